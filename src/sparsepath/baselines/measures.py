"""Measures of how well a selection matches the relevant features."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sparsepath.data.synthetic import Synthetic
from sparsepath.data.validation import column_indices


def saliency(selected: Sequence[int] | NDArray[np.intp], problem: Synthetic) -> float:
    """Return the saliency of section 4.1 of the grafting paper, between -1 and 1.

    The fraction of relevant features that are selected, plus the fraction of selected features that
    are relevant, minus 1. A copy counts as its original, and several copies of one feature count
    once.

    Parameters
    ----------
    selected : array-like of int
        Numbers of the selected columns.
    problem : Synthetic
        A problem of ``sparsepath.data.synthetic``.

    Returns
    -------
    float

    Examples
    --------
    >>> from sparsepath.data.synthetic import sparse_linear
    >>> problem = sparse_linear(20, 9, 4, random_state=0)
    >>> saliency(problem.relevant, problem), saliency([], problem)
    (1.0, -1.0)
    """
    listed = selected.tolist() if isinstance(selected, np.ndarray) else selected
    chosen = column_indices(listed, None, len(problem.original), "selected")
    if not chosen:
        return -1.0
    relevant = set(problem.original[problem.relevant].tolist())
    good = len(set(problem.original[chosen].tolist()) & relevant)
    return good / len(relevant) + good / len(chosen) - 1
