"""Checks of parameters before a computation: what was given and what is allowed."""

import os
from collections.abc import Iterable
from dataclasses import fields
from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np

from sparsepath.errors import InputError
from sparsepath.system.arrays import Floats, floats

Record = TypeVar("Record")
LARGEST_FLOAT = float(np.finfo(np.float64).max)


def count(name: str, value: Any, least: int = 1) -> int:
    """Return a whole number of at least ``least``, or raise an error.

    >>> count("n_restarts", 4)
    4
    """
    switch = isinstance(value, bool | np.bool_)
    if switch or not isinstance(value, Integral) or int(value) < least:
        raise InputError(f"{name}={value!r}; give a whole number from {least} up.")
    return int(value)


def at_most(name: str, value: Any, most: int) -> int:
    """Return a whole number of at least 0, limited to ``most``; None means ``most``.

    >>> at_most("max_features", None, 7), at_most("max_features", 9, 7)
    (7, 7)
    """
    return most if value is None else min(most, count(name, value, 0))


def number(name: str, value: Any, *, finite: bool = True) -> float:
    """Return a nonnegative number, or raise an error.

    >>> number("l1", 0)
    0.0
    """
    if not 0 <= real(value) <= (LARGEST_FLOAT if finite else np.inf):
        kind = "a finite number" if finite else "a number"
        raise InputError(f"{name}={value!r}; give {kind}, zero or more.")
    return float(value)


def positive(name: str, value: Any) -> float:
    """Return a finite positive number, or raise an error."""
    if not 0 < real(value) < np.inf:
        raise InputError(f"{name}={value!r}; give a finite number above zero.")
    return float(value)


def share(name: str, value: Any) -> float:
    """Return a number strictly between 0 and 1, or raise an error."""
    if not 0 < real(value) < 1:
        raise InputError(f"{name}={value!r}; give a number between 0 and 1, such as 1e-9.")
    return float(value)


def one_of(name: str, value: Any, allowed: Iterable[str]) -> str:
    """Return a value that is in a list of allowed texts, or raise an error."""
    known = list(allowed)
    if not isinstance(value, str) or value not in known:
        raise InputError(f"{name}={value!r}; use one of {', '.join(known)}.")
    return value


def flag(name: str, value: object) -> bool:
    """Return True or False, or raise an error."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"{name}={value!r}; use True or False.")
    return bool(value)


def function(name: str, value: Any) -> Any:
    """Check that a value is callable or None."""
    if value is not None and not callable(value):
        raise InputError(f"{name}={value!r} is not callable; give a function, or None.")
    return value


def file_name(name: str, value: Any) -> Any:
    """Check that a value is a file name or None."""
    if value is not None and not isinstance(value, str | os.PathLike):
        raise InputError(f"{name}={value!r}; give the name of a file, or None.")
    return value


def numbers(name: str, values: Any) -> Floats:
    """Return a list or array of numbers, or raise an error."""
    try:
        return floats(values)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name}={values!r}; give numbers.") from error


def is_list(value: Any) -> bool:
    """Return whether a value is a list or an array, not a single value.

    >>> is_list([1]), is_list([[0, 1], [2]]), is_list("loo")
    (True, True, False)
    """
    try:
        return np.ndim(value) > 0
    except ValueError:  # rows of different lengths
        return True


def check_shared(estimator: Any) -> None:
    """Check the parameters that have the same meaning for all estimators."""
    function("callback", getattr(estimator, "callback", None))
    n_jobs = getattr(estimator, "n_jobs", None)
    if n_jobs is not None and (not isinstance(n_jobs, Integral) or n_jobs == 0):
        raise InputError(f"n_jobs={n_jobs!r}; give a whole number other than 0, or None.")


def as_record(kind: type[Record], of: Any, **others: Any) -> Record:
    """Return a record whose fields are the parameters of an estimator, except ``others``."""
    return kind(**{each.name: getattr(of, each.name) for each in fields(kind)} | others)  # type: ignore[arg-type]


def random_state(value: Any) -> Any:
    """Return a scikit-learn ``random_state`` as a RandomState, or refuse it."""
    from sklearn.utils import check_random_state

    try:
        return check_random_state(value)
    except ValueError as error:
        raise InputError(
            f"random_state={value!r}; give a whole number from 0 to {2**32 - 1}, a RandomState "
            "or None."
        ) from error


def real(value: Any) -> float:
    """Return the value if it is a number, else NaN, which fails every limit."""
    is_real = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
    try:
        return float(value) if is_real else np.nan
    except OverflowError:  # a whole number of hundreds of digits
        return np.nan
