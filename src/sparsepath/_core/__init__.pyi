"""
Compiled loops of sparsepath. Private: names and arguments may change at any time.
"""

from sparsepath._core import (
    data as data,
    elm as elm,
    exact as exact,
    fold_losses as fold_losses,
    folds as folds,
    grafting as grafting,
    gram_search as gram_search,
    leave_one_out as leave_one_out,
    logistic as logistic,
    losses as losses,
    neighbors as neighbors,
    pairs as pairs,
    rbf as rbf,
    tall as tall,
    threads as threads
)
