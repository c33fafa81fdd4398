"""The command line: ``sparsepath select``, ``predict`` and ``demo``."""

from sparsepath.cli.program import main

__all__ = ["main"]
