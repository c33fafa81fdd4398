"""Regression or classification: inferred from the target, or given by the user."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsepath.data.formats import CELL, shorten
from sparsepath.errors import InputError

MOST_CLASSES_GUESSED = 20
MOST_WHOLE_NUMBERS = (
    4  # different ones that are guessed to be classes; counts and ratings have more
)
ROWS_PER_CLASS = 10


class TargetTask(NamedTuple):
    """The task, the kind of target that led to it, and doubts about it."""

    name: str
    why: str
    doubt: str = ""

    @property
    def is_doubtful(self) -> bool:
        """Whether numbers are taken as classes because there are few of them."""
        return self.name == "classification" and self.why.startswith("whole numbers")

    @property
    def other(self) -> str:
        return "regression" if self.name == "classification" else "classification"


def find_task(y: NDArray[Any], asked: str, label: str, labels: bool = False) -> TargetTask:
    """The task for a target, which messages call ``label``.

    With "auto", text and true/false are classes; so are whole numbers if there are only
    two different ones, or at most 4 and at least 10 rows for each on average; all else, such as
    counts and ratings from 1 to 5, is regression. ``labels`` says that classes are likely, as in
    svmlight files, where 20 values may be classes.

    >>> find_task(np.array(["no", "yes", "no"]), "auto", "y")
    TargetTask(name='classification', why='text with 2 different values', doubt='')
    >>> find_task(np.arange(50) % 3, "auto", "y").name, find_task(np.arange(50), "auto", "y").name
    ('classification', 'regression')
    """
    values = np.unique(y)
    count, text = len(values), y.dtype.kind not in "biuf"
    if count == 1:
        raise InputError(
            f"{label} is {str(values[0])[:CELL]} in every row, so there is nothing to select "
            "features for."
        )
    whole = not text and (y.dtype.kind != "f" or bool((values == np.round(values)).all()))
    kind = "text" if text else "true/false" if y.dtype.kind == "b" else "whole numbers"
    kind = kind if text or whole else "numbers"
    why = f"{kind} with {count} different values"
    most = MOST_CLASSES_GUESSED if labels else MOST_WHOLE_NUMBERS
    few = count == 2 or (count <= most and count * ROWS_PER_CLASS <= len(y))
    task = asked
    if asked == "auto":
        task = "classification" if text or (whole and few) else "regression"
    if task == "regression" and text:
        some = ", ".join(shorten(str(value)) for value in values[:3])
        raise InputError(f"{label} is text ({some}), which needs --task classification.")
    if task == "classification":
        if not (text or whole):
            raise InputError(
                f"{label} has {count} different values that are not whole numbers; use --task "
                "regression."
            )
        if count > max(MOST_CLASSES_GUESSED, len(y) // 2):
            raise InputError(
                f"{label} is {why} in {len(y)} rows, too many classes; name another column, "
                "or convert it to numbers for --task regression."
            )
    often = count * (2 if labels else ROWS_PER_CLASS) <= len(y)
    doubt = ""
    if asked == "auto" and task == "regression" and whole and often:
        doubt = (
            f"the target's {count} different whole numbers are taken as quantities (regression); "
            "if they are class labels, use --task classification."
        )
    return TargetTask(task, why, doubt)
