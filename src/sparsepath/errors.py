"""Exceptions and warnings that say what was given, what is allowed and what to try."""


class SparsepathError(Exception):
    """Base of every error that sparsepath raises on purpose."""


class InputError(SparsepathError, ValueError):
    """The data or a parameter cannot be used as given; the message names it and a remedy."""


class FileError(SparsepathError, OSError):
    """A file could not be read or written; the message names it and the reason."""


class PathWarning(UserWarning):
    """A selection path ended early or is less exact than asked; the message says where and why."""
