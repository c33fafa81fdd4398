"""Logistic and multinomial models of the columns on a path, at several penalties.

With f = b + Z B the output for two classes (outputs for more), Z the columns in order of entry,
centred and scaled, the models minimise

    sum of w_i loss(f(x_i), y_i) + alpha / 2 |B|^2,     loss = -log of the probability of the class

and the intercept b is not penalised. The loops and the method are in ``_core/logistic.cpp``: a
model starts from that of the size before.

With three or more classes, or more than ``FEW_SAMPLES`` samples, models that are only judged are
fitted at some sizes (``fitted_sizes``); the others take the outputs of the next smaller one.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from sparsepath._core import logistic as core
from sparsepath.rls.shrinkage import Chain, ScaledColumns, Subsets, chains, dense_columns
from sparsepath.system.arrays import Floats, Indices

TOLERANCE = 1e-14  # squared Newton decrement of the mean loss, at the end
ON_PARTS = 1e-8  # the same for models that are only judged
FEW_SAMPLES = 1000
EVERY_SIZE, RATIO = 10, 1.15  # sizes up to which all are fitted, and of the next to one beyond


class LogisticRefits(ScaledColumns):
    """Logistic models of subsets of columns, fitted to some samples; see ``ScaledColumns``.

    ``Y`` has one column of -1 and +1 for two classes, else a column for each class; sizes in
    ``always`` are fitted wherever others are left out.
    """

    def __init__(
        self,
        X: Any,
        Y: Floats,
        weights: Floats,
        *,
        fit_intercept: bool,
        standardize: bool,
        always: Sequence[int] = (),
    ) -> None:
        super().__init__(X, Y, weights, fit_intercept=fit_intercept, standardize=standardize)
        self._always = always
        self._n_classes = max(2, Y.shape[1])
        two = Y.shape[1] == 1
        self._codes: Indices = (self._Y[:, 0] > 0 if two else self._Y.argmax(1)).astype(np.int64)

    def outputs(self, subsets: Subsets, alphas: Sequence[float], X: Any) -> dict[int, Floats]:
        """Return the outputs for other samples, by size: penalties x samples x outputs."""
        if self._n_classes > 2 or len(self._codes) > FEW_SAMPLES:
            subsets = {size: subsets[size] for size in fitted_sizes(subsets, self._always)}
        found: dict[int, Floats] = {}
        for chain in chains(subsets):
            models, centre, scale = self._models(chain, alphas, ON_PARTS)
            other = (dense_columns(X, chain.columns) - centre) * scale
            every = models[..., 1:] @ other.T + models[..., :1]  # sizes second, samples last
            found |= {k: every[:, i].swapaxes(1, 2) for i, k in enumerate(chain.sizes)}
        return found

    def models(self, subsets: Subsets, alpha: float) -> dict[int, tuple[Floats, Floats]]:
        """Return coefficients (columns x outputs) in units of the data and intercept, by size."""
        found: dict[int, tuple[Floats, Floats]] = {}
        for chain in chains(subsets):
            models, centre, scale = self._models(chain, [alpha], TOLERANCE)
            for model, k in zip(models[0], chain.sizes, strict=True):
                w = scale[:k, None] * model[:, 1 : k + 1].T
                found[k] = w, model[:, 0] - centre[:k] @ w
        return found

    def _models(
        self, chain: Chain, alphas: Sequence[float], tolerance: float
    ) -> tuple[Floats, Floats, Floats]:
        """Return models (penalties x sizes x outputs x intercept and columns), centres, scales."""
        X, centre, scale = self._columns(chain.columns)
        sizes = np.array(chain.sizes, dtype=np.int64)
        flat = core.logistic_paths(
            np.ascontiguousarray(X.T),
            self._weights,
            self._codes,
            self._n_classes,
            np.array(alphas, dtype=np.float64),
            sizes,
            tolerance,
            fit_intercept=self._fit_intercept,
        )
        outputs = 1 if self._n_classes == 2 else self._n_classes
        return flat.reshape(len(alphas), len(sizes), outputs, -1), centre, scale


def fitted_sizes(sizes: Iterable[int], always: Sequence[int] = ()) -> list[int]:
    """Return the sizes at which models are fitted that are only judged.

    >>> fitted_sizes(range(31))
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 17, 20, 23, 27]
    """
    kept: list[int] = []
    for size in sorted(sizes):
        if size <= EVERY_SIZE or not kept or size >= RATIO * kept[-1] or size in always:
            kept.append(size)
    return kept
