r"""Pairs of features that are useful only jointly.

A pair such as :math:`x_i x_j` is not found by adding one feature at a time. So all pairs are ranked
by how well products of functions of the two features explain r, the leave-one-out residuals of a
machine. With :math:`\varphi_1, \varphi_2` the ranks and their squares, centred and with mean square
one (the Legendre polynomials of degree one and two), the score of a pair is

.. math:: \max_g \sum_t \sum_{a, b}
   \Bigl(\sum_s g_s r_{ts} \varphi_a(x_{is}) \varphi_b(x_{js})\Bigr)^2,

where g is one for a pair whose effect is added to the output of the machine, and :math:`\varphi_1`
of a selected feature, or the output, for a pair that modifies their effects. One matrix product
gives the scores of all pairs for one g, in single precision, because they are only used for
ranking. Ranks make the scores independent of units and robust to heavy tails.
"""

import numpy as np
from scipy.stats import rankdata

from sparsepath.system.arrays import Floats


def polynomials(XT: Floats) -> Floats:
    """Return functions of every feature, 2 x d x n; zero for undefined ones."""
    n = XT.shape[1]
    u = (2.0 * rankdata(XT, axis=1) - n - 1) / n
    return unit_rows(np.stack([u, np.square(u)]))


def unit_rows(values: Floats) -> Floats:
    """Values with mean zero and mean square one along the last axis; constant ones are zero."""
    values = values - values.mean(-1, keepdims=True)
    size = np.sqrt(np.square(values).mean(-1, keepdims=True))
    return np.divide(values, size, out=np.zeros_like(values), where=size > 1e-6)


def best_pairs(
    functions: Floats, residuals: Floats, modulators: Floats, most: int
) -> list[tuple[int, int]]:
    """Return the pairs with the largest scores, best first.

    Parameters
    ----------
    functions : array, 2 x d x n
        Those of :func:`polynomials`.
    residuals : array, T x n
    modulators : array, G x n
        The values of g.
    most : int
        How many pairs.
    """
    d, n = functions.shape[1:]
    rows = functions.reshape(-1, n).astype(np.float32)
    size = np.sqrt(np.square(residuals).mean()) or 1.0
    scores = np.zeros((d, d), np.float32)
    for g in modulators:
        total = np.zeros((d, d), np.float32)
        for r in residuals:
            weighted = rows * (g * r / size).astype(np.float32)
            products = (weighted @ rows.T).reshape(2, d, 2, d)
            total += np.einsum("aibj,aibj->ij", products, products)
        np.maximum(scores, total, out=scores)
    i, j = np.triu_indices(d, 1)
    order = np.argsort(-scores[i, j], kind="stable")[:most]
    return list(zip(i[order].tolist(), j[order].tolist(), strict=True))
