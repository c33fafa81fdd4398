"""Exceptions and warnings that say what was given, what is allowed and what to try."""

import sys
import warnings

OURS = ("sparsepath", "sklearn", "joblib", "contextlib")  # not the user's lines


class SparsepathError(Exception):
    """Base of every error that sparsepath raises on purpose."""


class InputError(SparsepathError, ValueError):
    """The data or a parameter cannot be used as given; the message names it and a remedy."""


class FileError(SparsepathError, OSError):
    """A file could not be read or written; the message names it and the reason."""


class PathWarning(UserWarning):
    """A selection path ended early or is less exact than requested; the message says where and
    why.
    """


def warn_user(message: str, category: type[Warning] = PathWarning) -> None:
    """Warn at the line of the user's program that led here: the first outside of the libraries.

    A warning that points at a line of ours says nothing, and Python shows it once for all callers.
    """
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in OURS:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level + 1)
