"""Survival times: a column of times, and one that says whether the event ended them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsepath.data.column_lookup import rows_where
from sparsepath.data.formats import quote_names
from sparsepath.data.readers import Table
from sparsepath.data.task import TargetTask
from sparsepath.errors import InputError

Event = tuple[str, str | None]  # a column, and its value where the event happened
YES = ("yes", "true", "event", "dead", "died", "deceased", "1", "1.0")
NO = ("no", "false", "censored", "alive", "living", "0", "0.0")


def happened(table: Table, event: Event) -> NDArray[np.bool_]:
    """Return for each row of a table whether the event happened at the time of the target."""
    name = [*table.beside][-1]
    return events_of(table.source, name, table.beside[name], event[1])


def events_of(source: Any, name: str, values: NDArray[Any], value: str | None) -> NDArray[np.bool_]:
    """Return which values of a column are events: those equal to ``value``, or that mean yes.

    >>> events_of("file", "died", np.array(["yes", "No"]), None).tolist()
    [True, False]
    >>> events_of("file", "status", np.array([1, 2, 1]), "2").tolist()
    [False, True, False]
    """
    if value is not None:
        return rows_where(source, name, values, (name, value))
    words = np.array([str(each).strip().lower() for each in values.tolist()], dtype=str)
    if unknown := sorted({*words.tolist()} - {*YES, *NO}):
        raise InputError(
            f"{source}: --event {name}: the column has the values {quote_names(unknown)}; "
            f"say which is the event, as in --event '{name}={unknown[0]}'."
        )
    return np.isin(words, YES)


def survival_task(
    label: str, times: NDArray[Any], events: NDArray[np.bool_], asked: str
) -> TargetTask:
    """Return the task of right-censored times, or raise an error for what is none."""
    if asked != "auto":
        raise InputError(f"--task {asked} does not go with --event; remove one of them.")
    if times.dtype.kind not in "iuf" or (times < 0).any():
        raise InputError(
            f"{label} must be times for --event: numbers from 0 up (from a start of each row, such "
            "as months under observation)."
        )
    if not events.any():
        raise InputError(f"{label}: no row has the event, so there is no risk to fit.")
    why = f"times, {np.count_nonzero(events):,} of {len(events):,} with the event, others censored"
    return TargetTask("survival", why)
