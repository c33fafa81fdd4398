r"""Is the best candidate better than chance? A permutation test of the largest gain (max-T).

With S chosen, the least penalised squared error is J = y'Py (the letters of
``passes/engine.py``), and candidate x would take the share

    g(x) = (x'Py)^2 / (alpha + s) / y'Py

of it away: for alpha = 0 the squared partial correlation with the target. Under the hypothesis
that none of the candidates has to do with the target beyond the chosen features, the residuals
can be permuted among the samples, while what the chosen features explain stays where
it is: y* = fitted values + permuted residuals (Freedman and Lane). Permuting y itself would be
right for the empty model only: with S chosen it would break the bond of the target with S too, call
all of that noise, and so make the null distribution too wide and the test too weak.

Which residuals? Sample weights g^2 say how much a sample counts; they need not be inverse
variances, so what is taken to be exchangeable is the noise e of the target itself, of equal
variance for all samples. In P's metric the residuals are P(g y); in the units of the target

    (1/g) P g y  =  e - common - (1/g) ZZ'(g e)         common: the error of the constant term

A constant stays one under permutation and is projected out, so the plain mean of the residuals is
taken off and the first two terms can be ignored: for the empty model the test is exact
whatever the weights. The third makes residuals of different variance, in units of that of e

    v_j = sum_i ((I - (1/g) ZZ' g)_ji)^2 = 1 - 2 |z_j|^2 + z_j'(Z'WZ) z_j / w_j       W = diag g^2

(z_j row j of Z; 1 - leverage if alpha = 0 and all weigh the same): they are divided by sqrt(v_j)
before they are permuted. A test for noise whose variance is one over the weight would permute g
times the residuals instead, and with weights of other meaning be too liberal.

For each permutation the largest g over *all* candidates is kept, so the level holds for the step as
a whole, however many candidates there are. The p-value of the candidate that the search proposes is

    p = (1 + number of permutations whose largest g reaches its g) / (1 + number of permutations).

For the empty model it is exact; later, approximate, since residuals are only nearly
exchangeable, and on the safe side, since the best of the noise has been chosen before.

Cost: X'PY* for all permutations is a product of matrices, taken some permutations at a time: for
B permutations and T targets 2 m n B T operations per step.
"""

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from sparsepath.rls.design import Design
from sparsepath.system.arrays import Floats

PERMUTATIONS_AT_ONCE = 64  # permutations in one product
LEAST_SD = 1e-6  # of a residual, over that of the noise: below it nothing is known of the noise
SAME_GAIN = 1e-10  # gains closer than this (relative) are equal
EXPLAINED = 1e-10  # part of a column's square that is left, from which it counts as nothing


def permutations(seed: int, step: int, count: int, m: int) -> Iterator[NDArray[np.intp]]:
    """Return the permutations of m samples for a step of the search; deterministic."""
    rng = np.random.default_rng([seed, step])
    for _ in range(count):
        yield rng.permutation(m)


def p_value(
    design: Design,
    Y: Floats,
    alpha: float,
    chosen: list[int],
    feature: int,
    candidates: Iterable[int],
    dealt: Iterable[NDArray[np.intp]],
) -> float:
    """Return the p-value of adding a feature; see the module docstring.

    ``candidates`` are all features that might be added, ``dealt`` permutations of the samples with
    positive weight.
    """
    g = np.sqrt(design.weights)[:, None]
    counted = np.flatnonzero(design.weights > 0)
    one = g / np.linalg.norm(g) if design.fit_intercept else np.zeros_like(g)
    Z = _basis(design, alpha, chosen, g)

    def project(V: Floats) -> Floats:
        V = V - one * (one.T @ V)
        return V - Z @ (Z.T @ V)

    def products(V: Floats) -> Floats:
        return design.dot(g * V)

    s = np.maximum(design.squares - np.square(products(Z)).sum(1), 0.0)
    allowed = ~design.constant & (s + alpha > EXPLAINED * design.squares)
    allowed &= np.isin(np.arange(len(s)), list(candidates))
    allowed[chosen] = False
    pivots = np.where(allowed, s + alpha, 1.0)[:, None]

    def shares(V: Floats) -> Floats:
        """Return the fraction of J that every feature removes, for targets V: n x m x T -> n x
        count.
        """
        count, T = V.shape[1], V.shape[2]
        V = V.reshape(len(V), count * T)
        PV = project(V)
        squares = np.square(products(PV)).reshape(len(s), count, T).sum(2)
        J = np.einsum("ij,ij->j", V, PV).reshape(count, T).sum(1)
        return np.asarray(squares / pivots / J)

    y = g * Y
    y = y - one * (one.T @ y)
    r = project(y)
    e = _noise(r[counted], g[counted], Z[counted], design.fit_intercept)
    least = shares(y[:, None])[feature, 0] * (1 - SAME_GAIN)
    reached = total = 0
    for some in _batches(dealt):
        star = np.repeat((y - r)[:, None], len(some), axis=1)
        for k, order in enumerate(some):
            star[counted, k] += g[counted] * e[order]
        reached += int(np.count_nonzero(shares(star)[allowed].max(0) >= least))
        total += len(some)
    return (1 + reached) / (1 + total)


def _noise(r: Floats, g: Floats, Z: Floats, centre: bool) -> Floats:
    """Return residuals of equal variance in units of the target; all weights are positive."""
    e = r / g
    if centre:
        e = e - e.mean(0)
    WZ = g * Z
    v = 1.0 - 2.0 * np.square(Z).sum(1) + np.einsum("ij,ij->i", Z @ (WZ.T @ WZ), Z) / g[:, 0] ** 2
    return e / np.maximum(np.sqrt(np.maximum(v, 0.0)), LEAST_SD)[:, None]


def _basis(design: Design, alpha: float, chosen: list[int], g: Floats) -> Floats:
    """Return Z with P = P0 - ZZ': the upper part of an orthonormal basis of X over
    sqrt(alpha) I.
    """
    k = len(chosen)
    X = np.column_stack([np.zeros((len(g), 0)), *(g[:, 0] * design.column(i) for i in chosen)])
    return np.linalg.qr(np.vstack([X, np.sqrt(alpha) * np.eye(k)]))[0][: len(g)]


def _batches(dealt: Iterable[NDArray[np.intp]]) -> Iterator[list[NDArray[np.intp]]]:
    batch = []
    for order in dealt:
        batch.append(order)
        if len(batch) == PERMUTATIONS_AT_ONCE:
            yield batch
            batch = []
    if batch:
        yield batch
