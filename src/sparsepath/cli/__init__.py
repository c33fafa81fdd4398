"""The command line: ``sparsepath select``, ``predict`` and ``demo``."""

from sparsepath.cli.app import main

__all__ = ["main"]
