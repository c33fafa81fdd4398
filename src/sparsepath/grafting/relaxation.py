"""Relaxed paths: penalised coefficients mixed with refitted ones (Hastie et al. 2020).

A single l1 penalty determines both selection and shrinkage. With w the optimum for an l1, S its
features and v the ridge regression on S, the models

    a w + (1 - a) v,        a = 1, 3/4, 1/2, 1/4, 0,

select as w does and shrink as little as the data allow; errors on held-out rows choose l1 and a.
The penalty of v, like that of ``LarsSelector``, prevents large errors for unusual rows.
"""

from collections.abc import Iterable, Iterator

import numpy as np

from sparsepath.grafting.criterion import Penalty
from sparsepath.grafting.fitting import GraftingFit, GraftingProblem
from sparsepath.grafting.procedure import WorkingModel
from sparsepath.system.arrays import Floats

MIXES = (1.0, 0.75, 0.5, 0.25, 0.0)  # parts of the penalised coefficients
RIDGE = 1e-3  # times the squares of the standardised coefficients, beside the mean square


def relaxed(
    problem: GraftingProblem, fits: Iterable[GraftingFit], penalty: Penalty
) -> Iterator[WorkingModel]:
    """For every fit to squared errors the models of all mixes, in the order of ``MIXES``."""
    s, y = problem.design.s, problem.Y[:, 0]
    refits: dict[tuple[int, ...], Floats] = {}
    for fit in fits:
        model = fit.final
        S = np.array(model.features, dtype=np.intp)
        A = problem.design.columns(S)
        if model.features not in refits:
            G = A.T @ (s[:, None] * A)
            G[np.diag_indices(len(S))] += RIDGE + 2.0 * penalty.l2[S]
            refits[model.features] = np.asarray(np.linalg.solve(G, A.T @ (s * y)), dtype=float)
        w, v = model.W[:, 0], refits[model.features]
        for mix in MIXES:
            W = mix * w + (1.0 - mix) * v
            loss = 0.5 * float(s @ np.square(y - A @ W - model.b))
            yield WorkingModel(model.features, W[:, None], model.b, fit.criterion, loss)
