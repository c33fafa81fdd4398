"""Exceptions and warnings that say what was given, what is allowed and what to try."""

import sys
import warnings

BETWEEN = ("sparsepath", "sklearn", "joblib")  # packages whose frames are not the user's


class SparsepathError(Exception):
    """Base of every error that sparsepath raises on purpose."""


class InputError(SparsepathError, ValueError):
    """The data or a parameter cannot be used as given; the message names it and a remedy."""


class FileError(SparsepathError, OSError):
    """A file could not be read or written; the message names it and the reason."""


class PathWarning(UserWarning):
    """A selection path ended early or is less exact than asked; the message says where and why."""


def warn_user(message: str, category: type[Warning] = PathWarning) -> None:
    """Warn at the user's line: the innermost one outside of this package and scikit-learn.

    However deep in the package something is noticed, the line that asked for it is the one that
    can be changed, and the one by which Python shows a repeated warning once.
    """
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and _package(frame.f_globals) in BETWEEN:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def _package(module: dict[str, object]) -> str:
    return str(module.get("__name__", "")).partition(".")[0]
