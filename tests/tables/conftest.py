"""The command line, in this process or as a program, as the tests of the command line have it."""

from cli.conftest import run

__all__ = ["run"]
