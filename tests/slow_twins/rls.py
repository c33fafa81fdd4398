"""Slow references for selection with regularised least squares: all models refitted from scratch.

X is m x n, Y is m x T, sw holds m sample weights (None: all one). A ridge fit minimises
sum_j sw_j |y_j - b - x_j w|^2 + alpha |w|^2 with an unpenalised intercept b, refitted each time.

All criteria share one signature, so that each can be the ``error=`` of each search:
``error(X, Y, alpha, fit_intercept, sw, loss) -> (value, standard error)``, lower is better.
A criterion that is not defined (alpha = 0 and dependent columns in a refit) is infinite.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Subset = tuple[int, ...]
Path = list[tuple[Subset, float, float]]  # per step: subset in order of entry, value, its s.e.
Error = Callable[..., tuple[float, float]]

NO_DECISION = 1e-10  # scores closer than this, over the reach of the model, do not decide
LABEL_ROUNDING = 4e-15  # nor do scores that are smaller than this beside labels of +-1
COUNTING = ("zero_one", "balanced", "auc", "disagreement")  # what counts mistakes has ties
DEPENDENT = 1e-10  # what is left of a dependent column, relative to the column
UNDEFINED = (np.inf, np.nan)


# --- one fit --------------------------------------------------------------------------------------


def _centred(X: Array, fit_intercept: bool, sw: Array) -> tuple[Array, Array]:
    """Rows less their weighted mean, times the root of their weight; and that mean."""
    mean = sw @ X / sw.sum() if fit_intercept else np.zeros(X.shape[1])
    return np.sqrt(sw)[:, None] * (X - mean), mean


def _fit(
    X: Array, Y: Array, alpha: float, fit_intercept: bool, sw: Array
) -> tuple[Array, Array, Array]:
    """Coefficients and the two means, by least squares on the data stacked on sqrt(alpha) I.

    Columns are brought to unit norm first, so that their scale decides nothing about rank.
    """
    A, x_mean = _centred(X, fit_intercept, sw)
    B, y_mean = _centred(Y, fit_intercept, sw)
    n = X.shape[1]
    A = np.vstack([A, np.sqrt(alpha) * np.eye(n)])
    B = np.vstack([B, np.zeros((n, Y.shape[1]))])
    scale = np.linalg.norm(A, axis=0)
    scale[scale == 0] = 1
    coef = np.linalg.lstsq(A / scale, B, rcond=None)[0] / scale[:, None]
    return coef, x_mean, y_mean


def _ones(X: Array, sw: Array | None) -> Array:
    return np.ones(len(X)) if sw is None else np.asarray(sw, dtype=float)


def ridge(
    X: Array, Y: Array, alpha: float, fit_intercept: bool = True, sw: Array | None = None
) -> tuple[Array, Array]:
    """Coefficients (n x T) and intercepts (T)."""
    coef, x_mean, y_mean = _fit(X, Y, alpha, fit_intercept, _ones(X, sw))
    return coef, y_mean - x_mean @ coef


def independent(X: Array, fit_intercept: bool = True, sw: Array | None = None) -> bool:
    """Whether the columns, and the constant if there is an intercept, are linearly independent."""
    sw = _ones(X, sw)
    Z, _ = _centred(X, fit_intercept, sw)
    norms = np.linalg.norm(Z, axis=0)
    if np.any(norms <= 1e-13 * np.linalg.norm(np.sqrt(sw)[:, None] * X, axis=0)):
        return False
    Z = Z / norms
    for j in range(1, Z.shape[1]):
        before, z = Z[:, :j], Z[:, j]
        if np.linalg.norm(z - before @ np.linalg.lstsq(before, z, rcond=None)[0]) <= DEPENDENT:
            return False
    return True


def reach(X: Array, alpha: float, fit_intercept: bool, sw: Array) -> float:
    """How large scores can be beside the target: the sum of q / (q + alpha), but one at most.

    q is the squared norm of a column, less its mean if there is an intercept.
    """
    q = (_centred(X, fit_intercept, sw)[0] ** 2).sum(axis=0)
    return min(1.0, float(sum(x / (x + alpha) for x in q if x > 0)))


def _held_out(
    X: Array, Y: Array, test: Array, train: Array, alpha: float, fit_intercept: bool, sw: Array
) -> Array:
    """Predictions for the test rows of the fit on the training rows; NaN where it is undefined."""
    Xt, swt = X[train], sw[train]
    no_mean = fit_intercept and swt.sum() == 0
    if no_mean or (alpha == 0 and not independent(Xt, fit_intercept, swt)):
        return np.full((len(test), Y.shape[1]), np.nan)
    coef, x_mean, y_mean = _fit(Xt, Y[train], alpha, fit_intercept, swt)
    return y_mean + (X[test] - x_mean) @ coef


# --- criteria -------------------------------------------------------------------------------------


def _shares(Y: Array, sw: Array, loss: str) -> Array:
    """What each sample counts; the sum is one. Balanced: every class present counts the same."""
    if loss != "balanced":
        return sw / sw.sum()
    label = Y[:, 0] > 0 if Y.shape[1] == 1 else Y.argmax(axis=1)
    total = np.array([sw[label == own].sum() for own in label])  # the weight of its class
    present = len(np.unique(label[total > 0]))
    return np.divide(sw, present * total, out=np.zeros(len(sw)), where=total > 0)


def losses(
    Y: Array, F: Array, sw: Array | None, loss: str, far: float = 1.0
) -> tuple[Array, float]:
    """Loss of each sample and the weighted mean; ``far`` is the reach of the model."""
    if loss == "squared":
        each = ((Y - F) ** 2).sum(axis=1)
    elif loss == "absolute":
        each = np.abs(Y - F).sum(axis=1)
    elif loss == "huber":  # delta 1.35
        e = np.abs(Y - F)
        each = np.where(e <= 1.35, e**2 / 2, 1.35 * e - 1.35**2 / 2).sum(axis=1)
    elif loss == "log_cosh":  # cosh e - 1 = (exp e - 1)^2 / (2 exp e)
        e = np.abs(Y - F)
        near = np.minimum(e, 30.0)
        grown = np.log1p(np.expm1(near) ** 2 / (2 * np.exp(near)))
        each = np.where(e < 30, grown, e - np.log(2)).sum(axis=1)
    elif loss in ("zero_one", "balanced"):
        near = NO_DECISION * far + LABEL_ROUNDING  # scores that are equal: the first class wins
        each = np.zeros(len(Y))
        for i in range(len(Y)):
            if Y.shape[1] == 1:
                right = (F[i, 0] > near) == (Y[i, 0] > 0)
            else:
                own = int(Y[i].argmax())
                gaps = F[i, own] - F[i]
                right = all(gaps[:own] > near) and all(gaps[own + 1 :] > -near)
            each[i] = 0.0 if right else 1.0
    else:
        raise ValueError(f"unknown loss {loss!r}")
    return each, float(_shares(Y, _ones(Y, sw), loss) @ each)


def _judged(Y: Array, F: Array, sw: Array, loss: str, far: float = 1.0) -> tuple[float, float]:
    """Mean loss of the predictions and its standard error."""
    if np.isnan(F).any():
        return UNDEFINED
    each, value = losses(Y, F, sw, loss, far)
    m = np.count_nonzero(sw)  # a sample of weight zero is none
    spread = np.linalg.norm(_shares(Y, sw, loss) * (each - value))
    return value, float(spread * np.sqrt(m / (m - 1)))


def loo_predictions(
    X: Array, Y: Array, alpha: float, fit_intercept: bool = True, sw: Array | None = None
) -> Array:
    """Prediction of each row by the fit without it."""
    sw, rows = _ones(X, sw), np.arange(len(X))
    return np.vstack(
        [_held_out(X, Y, rows[[j]], rows[rows != j], alpha, fit_intercept, sw) for j in rows]
    )


def loo_error(
    X: Array,
    Y: Array,
    alpha: float,
    fit_intercept: bool = True,
    sw: Array | None = None,
    loss: str = "squared",
) -> tuple[float, float]:
    """Leave-one-out error by m refits, and its standard error."""
    F, sw = loo_predictions(X, Y, alpha, fit_intercept, sw), _ones(X, sw)
    return _judged(Y, F, sw, loss, reach(X, alpha, fit_intercept, sw))


def kfold_error(splits: Iterable[tuple[Any, Any]], pooled: bool = False) -> Error:
    """Criterion over (train, test) index pairs: the mean over splits of the mean test loss.

    ``pooled``: the mean over all test rows of all splits instead. The standard error is that of
    the mean over splits in both cases (``_se_of_parts``). A split whose test rows weigh nothing is
    left out.
    """
    splits = [(np.asarray(train), np.asarray(test)) for train, test in splits]

    def error(
        X: Array,
        Y: Array,
        alpha: float,
        fit_intercept: bool = True,
        sw: Array | None = None,
        loss: str = "squared",
    ) -> tuple[float, float]:
        sw = _ones(X, sw)
        weighty = [(train, test) for train, test in splits if sw[test].sum() > 0]
        F = [_held_out(X, Y, test, train, alpha, fit_intercept, sw) for train, test in weighty]
        if any(np.isnan(f).any() for f in F):
            return UNDEFINED
        tests = [test for _, test in weighty]
        far = reach(X, alpha, fit_intercept, sw)
        means = [losses(Y[t], f, sw[t], loss, far)[1] for t, f in zip(tests, F, strict=True)]
        every = np.concatenate(tests)
        value = np.mean(means)
        if pooled:
            value = losses(Y[every], np.vstack(F), sw[every], loss, far)[1]
        return float(value), _se_of_parts(np.array(means), tests, sw)

    return error


def _se_of_parts(means: Array, tests: list[Array], sw: Array) -> float:
    """Standard error of the mean of test parts that may share samples, losses being independent.

    The shares of the samples in the parts give the covariance of the parts up to a factor, which
    is estimated by the spread of their means.
    """
    count = len(means)
    share = np.zeros((count, len(sw)))
    for f, test in enumerate(tests):
        for j in test:
            share[f, j] += sw[j] / sw[test].sum()
    covariance = share @ share.T
    centring = np.eye(count) - 1 / count
    expected = np.trace(centring @ covariance)
    if expected < 1e-9 * np.trace(covariance):
        return float("nan")
    factor = ((means - means.mean()) ** 2).sum() / expected
    return float(np.sqrt(factor * covariance.sum()) / count)


def auc_leave_pair_out(
    X: Array,
    Y: Array,
    alpha: float,
    fit_intercept: bool = True,
    sw: Array | None = None,
    loss: str = "auc",
) -> tuple[float, float]:
    """Share of (positive, negative) pairs put in the wrong order by the fit without both.

    Equal scores are half wrong. A pair counts the product of its two weights. ``loss="squared"``:
    what the difference of the two scores is off, squared, instead. The standard error takes the
    positive samples, and the negative ones, as drawn at random (DeLong): each has a mean over its
    pairs, and the squares of what weight times that is off add up.
    """
    sw, rows, y = _ones(X, sw), np.arange(len(X)), np.ravel(Y)
    positive, negative = rows[(y > 0) & (sw > 0)], rows[(y <= 0) & (sw > 0)]
    blur = 2 * NO_DECISION * reach(X, alpha, fit_intercept, sw)
    costs = np.zeros((len(positive), len(negative)))
    for a, p in enumerate(positive):
        for b, q in enumerate(negative):
            train = np.delete(rows, [p, q])
            if alpha == 0 and not independent(X[train], fit_intercept, sw[train]):
                return UNDEFINED
            coef, _, _ = _fit(X[train], y[train, None], alpha, fit_intercept, sw[train])
            gap = ((X[p] - X[q]) @ coef)[0]
            costs[a, b] = 1.0 if gap < -blur else 0.5 if gap <= blur else 0.0
            if loss == "squared":
                costs[a, b] = (y[p] - y[q] - gap) ** 2
    v, w = sw[positive] / sw[positive].sum(), sw[negative] / sw[negative].sum()
    value = float(v @ costs @ w)
    if min(costs.shape) < 2:
        return value, np.nan
    off = [v * (costs @ w - value), w * (v @ costs - value)]
    return value, float(np.sqrt(sum(len(o) / (len(o) - 1) * (o @ o) for o in off)))


def auc_kfold_error(splits: Iterable[tuple[Any, Any]]) -> Error:
    """Mean over splits of the share of (positive, negative) pairs of the test part in wrong order.

    Test parts without such a pair are left out. ``loss="squared"`` is that of `kfold_error`, on
    the same splits.
    """
    splits = [(np.asarray(train), np.asarray(test)) for train, test in splits]

    def error(
        X: Array,
        Y: Array,
        alpha: float,
        fit_intercept: bool = True,
        sw: Array | None = None,
        loss: str = "auc",
    ) -> tuple[float, float]:
        y, sw = np.ravel(Y), _ones(X, sw)
        counted = [(a, b) for a, b in splits if len(np.unique(y[b][sw[b] > 0])) == 2]
        if loss == "squared":
            return kfold_error(counted)(X, Y, alpha, fit_intercept, sw)
        blur, means = 2 * NO_DECISION * reach(X, alpha, fit_intercept, sw), []
        for train, test in counted:
            coef, _, _ = _fit(X[train], y[train, None], alpha, fit_intercept, sw[train])
            scores = (X[test] @ coef)[:, 0]
            gap = scores[y[test] > 0][:, None] - scores[y[test] <= 0]
            costs = np.where(gap > blur, 0.0, np.where(gap < -blur, 1.0, 0.5))
            v, w = sw[test][y[test] > 0], sw[test][y[test] <= 0]
            means.append(v @ costs @ w / (v.sum() * w.sum()))
        count = len(means)
        se = np.std(means, ddof=1) / count**0.5 if count > 1 else np.nan
        return float(np.mean(means)), float(se)

    return error


# --- searches -------------------------------------------------------------------------------------


def _lowest(
    values: Mapping[Any, tuple[float, float]],
    empty: float,
    squared: Callable[[Any], float] | None = None,
    empty_squared: float = 0.0,
) -> Any:
    """Key of the lowest value; None if there is no finite value.

    Among equals the one with the lowest ``squared``, if given, and then the lowest key.
    """
    least = min((value for value, _ in values.values()), default=np.inf)
    if not np.isfinite(least):
        return None
    tied = [key for key, (value, _) in values.items() if value <= least + _slack(least, empty)]
    if squared is not None and len(tied) > 1:
        seconds = {key: squared(key) for key in tied}
        least = min(seconds.values())
        tied = [key for key in tied if seconds[key] <= least + _slack(least, empty_squared)]
    return min(tied)


def _slack(value: float, empty: float) -> float:
    """How far above ``value`` another one still equals it; ``empty``: error of the empty model."""
    return 1e-9 * value + 1e-13 * empty


def _settled(value: float, loss: str) -> bool:
    """Whether there are no mistakes left to be counted."""
    return loss in COUNTING and value == 0


def _without(subset: Subset, i: int) -> Subset:
    return tuple(j for j in subset if j != i)


@dataclass(eq=False)
class Search:
    """A criterion on subsets, the features it may use, and the rule for ties.

    Ties of a criterion that counts mistakes go to the lowest squared criterion, then to the lowest
    index. Without mistakes nothing is left to gain, and no feature is added beyond ``wanted``.

    ``forced`` features are in every subset of a path; ``forbidden`` and constant ones in none.
    """

    X: Array
    Y: Array
    alpha: float
    loss: str = "squared"
    fit_intercept: bool = True
    sw: Array | None = None
    forced: Sequence[int] = ()
    forbidden: Collection[int] = ()
    error: Error = loo_error
    wanted: int = 0

    def __post_init__(self) -> None:
        self.forced = tuple(self.forced)
        varies = self.X.max(axis=0) > self.X.min(axis=0)
        self.eligible = [i for i in np.flatnonzero(varies).tolist() if i not in self.forbidden]
        self.counts = self.loss in COUNTING
        self.empty, _ = self.score(())
        self.empty_squared = self.squared(())

    def squared(self, subset: Subset) -> float:
        """The squared criterion, which settles ties of counts."""
        X = self.X[:, list(subset)]
        return self.error(X, self.Y, self.alpha, self.fit_intercept, self.sw, "squared")[0]

    def score(self, subset: Subset) -> tuple[float, float]:
        X = self.X[:, list(subset)]
        return self.error(X, self.Y, self.alpha, self.fit_intercept, self.sw, self.loss)

    def additions(self, subset: Subset) -> list[int]:
        """All that may enter."""
        free = [i for i in self.eligible if i not in subset]
        if self.alpha > 0:
            return free
        X, fit_intercept, sw = self.X, self.fit_intercept, self.sw
        return [i for i in free if independent(X[:, [*subset, i]], fit_intercept, sw)]

    def removals(self, subset: Subset) -> list[int]:
        return [i for i in subset if i not in self.forced]

    def best(self, moves: Mapping[Any, Subset]) -> tuple[Any, Subset, float, float] | None:
        """The best of the moves (move -> subset after it): move, subset, value, standard error."""
        values = {move: self.score(subset) for move, subset in moves.items()}
        second = (lambda move: self.squared(moves[move])) if self.counts else None
        move = _lowest(values, self.empty, second, self.empty_squared)
        return None if move is None else (move, moves[move], *values[move])

    def settled(self, subset: Subset) -> bool:
        """Whether there are no mistakes left."""
        enough = len(subset) >= max(self.wanted, len(self.forced))
        return enough and _settled(self.score(subset)[0], self.loss)

    def best_addition(self, subset: Subset) -> tuple[Any, Subset, float, float] | None:
        if self.settled(subset):
            return None
        return self.best({i: (*subset, i) for i in self.additions(subset)})

    def best_removal(self, subset: Subset) -> tuple[Any, Subset, float, float] | None:
        return self.best({i: _without(subset, i) for i in self.removals(subset)})

    def best_exchange(self, subset: Subset) -> tuple[Any, Subset, float, float] | None:
        return self.best(
            {
                (i, j): (*_without(subset, i), j)
                for i in self.removals(subset)
                for j in self.additions(_without(subset, i))
                if j != i
            }
        )


def wrapper_forward(
    X: Array, Y: Array, k: int, alpha: float, loss: str = "squared", **options: Any
) -> Path:
    """Forward selection with a black box ("Linear Time Feature Selection", Algorithm 1).

    Options are those of `Search`: fit_intercept, sw, forced, forbidden, error. Sizes from the
    forced features to k, fewer if nothing is left to enter or the criterion is undefined.
    """
    search = Search(X, Y, alpha, loss, **options)
    path: Path = [(search.forced, *search.score(search.forced))]
    while len(path[-1][0]) < k and (step := search.best_addition(path[-1][0])):
        path.append(step[1:])
    return path


def forward_with_swaps(
    X: Array, Y: Array, k: int, alpha: float, loss: str = "squared", **options: Any
) -> Path:
    """Forward selection; after each addition the best exchanges as long as they help.

    Ties: the lowest feature to drop, then the lowest to add.
    """
    search = Search(X, Y, alpha, loss, **options)
    path: Path = [(search.forced, *search.score(search.forced))]
    while len(path[-1][0]) < k and (step := search.best_addition(path[-1][0])):
        exchange = search.best_exchange(step[1])
        while exchange and exchange[2] < step[2] - _slack(step[2], search.empty):
            step = exchange
            exchange = search.best_exchange(step[1])
        path.append(step[1:])
    return path


def backward(
    X: Array, Y: Array, k_min: int, alpha: float, loss: str = "squared", **options: Any
) -> Path:
    """Backward elimination from all features that may be chosen, largest subset first."""
    search = Search(X, Y, alpha, loss, **options)
    S = tuple(sorted({*search.eligible, *search.forced}))
    path: Path = [(S, *search.score(S))]
    while len(path[-1][0]) > k_min and (step := search.best_removal(path[-1][0])):
        path.append(step[1:])
    return path


def floating_rls(
    X: Array,
    Y: Array,
    alpha: float,
    epsilon: float,
    max_size: int | None = None,
    loss: str = "squared",
    **options: Any,
) -> tuple[dict[int, tuple[Subset, float]], list[tuple[str, int, float]]]:
    """Floating search ("New Computational Short-cuts", Algorithm 1), each model refitted.

    e[c] and gain[c] are the paper's e_c and delta_c. Errors are means per sample, and so is
    epsilon. An increase of just half the gain leads to removal, as in the paper; "just half" is
    read up to a relative 1e-9. At ``max_size`` features the search goes on only after a removal.
    Returns the best subset met per size with its value, and the moves (kind, feature, value after).
    """
    if not epsilon > 0:
        raise ValueError("epsilon must be positive, or adding and dropping may go on for ever")
    search = Search(X, Y, alpha, loss, **options)
    max_size = X.shape[1] if max_size is None else max_size
    S = search.forced
    e, gain = {len(S): search.score(S)[0]}, {}
    best = {len(S): (S, e[len(S)])}
    moves: list[tuple[str, int, float]] = []

    def make(kind: str, feature: int, value: float) -> None:
        moves.append((kind, feature, value))
        e[len(S)] = value
        known = best.get(len(S))
        if known is None or value < known[1] - _slack(value, search.empty):
            best[len(S)] = (S, value)

    while len(S) < max_size and (step := search.best_addition(S)):
        b, larger, value, _ = step
        c = len(larger)
        gain[c] = e[c - 1] - value
        if gain[c] < epsilon:
            break
        S = larger
        make("add", b, value)
        while c > len(search.forced) and (step := search.best_removal(S)):
            b, smaller, value, _ = step
            if value - e[c] > 0.5 * gain[c] * (1 + 1e-9):
                break
            S, c = smaller, c - 1
            make("drop", b, value)
    return best, moves


# --- the short-cuts of the paper, literally -------------------------------------------------------


def low_rank_lssvm(
    X: Array, Y: Array, k: int, alpha: float, loss: str = "squared"
) -> tuple[Path, Array]:
    """Low-rank updated LS-SVM ("Linear Time Feature Selection", Algorithm 2), no intercept.

    Returns the path and the final w. Every column is a candidate, a constant one too.
    """
    m, n = X.shape
    y, one = np.ravel(Y), np.ones(m)

    def updated(G: Array, v: Array) -> Array:
        Gv = G @ v
        return G - np.outer(Gv, Gv) / (1 + v @ Gv)

    def judged(G: Array, loss: str = loss) -> tuple[float, float]:
        return _judged(y[:, None], (y - (G @ y) / np.diag(G))[:, None], one, loss)

    G = np.eye(m) / alpha
    path: Path = [((), *judged(G))]
    while len(path) <= min(k, n) and not _settled(path[-1][1], loss):
        S = path[-1][0]
        values = {i: judged(updated(G, X[:, i])) for i in range(n) if i not in S}
        second = {i: judged(updated(G, X[:, i]), "squared")[0] for i in values}
        b = _lowest(values, path[0][1], second.get if loss in COUNTING else None)
        G = updated(G, X[:, b])
        path.append(((*S, b), *values[b]))
    return path, X[:, list(path[-1][0])].T @ G @ y


def greedy_rls(
    X: Array, y: Array, k: int, alpha: float, loss: str = "squared"
) -> tuple[Path, Array]:
    """Greedy RLS ("Linear Time Feature Selection", Algorithm 3), no intercept.

    Returns the path and the final w. Every column is a candidate, a constant one too.
    """
    m, n = X.shape
    y, one = np.ravel(y), np.ones(m)

    def judged(a: Array, d: Array, loss: str = loss) -> tuple[float, float]:
        return _judged(y[:, None], (y - a / d)[:, None], one, loss)

    a, d, C = y / alpha, one / alpha, X / alpha
    path: Path = [((), *judged(a, d))]
    while len(path) <= min(k, n) and not _settled(path[-1][1], loss):
        S, values, second = path[-1][0], {}, {}
        for i in (i for i in range(n) if i not in S):
            v = X[:, i]
            u = C[:, i] / (1 + v @ C[:, i])
            values[i] = judged(a - u * (v @ a), d - u * C[:, i])
            second[i] = judged(a - u * (v @ a), d - u * C[:, i], "squared")[0]
        b = _lowest(values, path[0][1], second.get if loss in COUNTING else None)
        v = X[:, b]
        u = C[:, b] / (1 + v @ C[:, b])
        a, d, C = a - u * (v @ a), d - u * C[:, b], C - np.outer(u, v @ C)
        path.append(((*S, b), *values[b]))
    return path, X[:, list(path[-1][0])].T @ a


# --- ranking --------------------------------------------------------------------------------------


def rank_rls(
    X: Array, y: Array, alpha: float, groups: Any = None, sw: Array | None = None
) -> Array:
    """Coefficients (n) of least squares on all pairs of samples, of the same group if given.

    Minimises the sum over pairs of sw_i sw_j ((y_i - y_j) - (x_i - x_j) w)^2 + alpha |w|^2, every
    pair written out as a row.
    """
    D, weight = _all_pairs(len(X), groups, sw)
    return ridge(D @ X, D @ np.reshape(y, (-1, 1)), alpha, fit_intercept=False, sw=weight)[0][:, 0]


def _all_pairs(m: int, groups: Any, sw: Array | None) -> tuple[Array, Array]:
    """One row per pair of the same group, +1 and -1 in it, and the weights of the pairs."""
    groups = np.zeros(m) if groups is None else np.asarray(groups)
    sw = np.ones(m) if sw is None else sw
    pairs = [(i, j) for i, j in combinations(range(m), 2) if groups[i] == groups[j]]
    D = np.zeros((len(pairs), m))
    for row, (i, j) in zip(D, pairs, strict=True):
        row[i], row[j] = 1, -1
    return D, np.array([sw[i] * sw[j] for i, j in pairs])


def _pair_losses(y: Array, scores: Array, D: Array, loss: str, blur: float) -> Array:
    """What each pair costs; NaN if it does not count."""
    true, given = D @ y, D @ scores
    if loss == "squared":
        return (true - given) ** 2 / 2
    given = given * np.sign(true)
    costs = np.where(given > blur, 0.0, np.where(given < -blur, 1.0, 0.5))
    return np.where(true == 0, np.nan, costs)


def rank_leave_pair_out(
    X: Array,
    Y: Array,
    alpha: float,
    fit_intercept: bool = True,
    sw: Array | None = None,
    loss: str = "squared",
) -> tuple[float, float]:
    """Mean over all pairs of what the fit to the pairs among the other samples makes of the pair.

    ``loss``: "squared", ((y_i - y_j) - (x_i - x_j) w)^2 / 2; or "disagreement", one for the wrong
    order and a half for none, of pairs with y_i != y_j. A pair counts the product of its weights.
    The standard error is that of a mean over pairs to first order, from each sample's own sum.
    """
    y, sw, m = np.ravel(Y), _ones(X, sw), len(X)
    D, weight = _all_pairs(m, None, sw)
    blur = NO_DECISION * np.ptp(y) * reach(D @ X, alpha, False, weight)
    costs = np.full((m, m), np.nan)
    for i, j in combinations(range(m), 2):
        rest = np.delete(np.arange(m), [i, j])
        if alpha == 0 and not independent(X[rest]):
            return UNDEFINED
        w = rank_rls(X[rest], y[rest], alpha, sw=sw[rest])
        one = np.zeros((1, m))
        one[0, [i, j]] = 1, -1
        costs[i, j] = costs[j, i] = _pair_losses(y, X @ w, one, loss, blur)[0]
    count = np.where(np.isnan(costs), 0.0, np.outer(sw, sw))
    costs = np.where(np.isnan(costs), 0.0, costs)
    value = float((count * costs).sum() / count.sum())
    own = (count * (costs - value)).sum(axis=1) * 2 / count.sum()
    return value, float(np.sqrt(own @ own * m / (m - 1)))


def rank_kfold_error(
    splits: Iterable[tuple[Any, Any]], groups: Any = None, pooled: bool = False
) -> Error:
    """Mean over splits of the mean over the pairs within the test part, fitted to training pairs.

    ``pooled``: the mean over the pairs of all test parts. Test parts without a pair that counts are
    left out. Losses as in `rank_leave_pair_out`.
    """

    def error(
        X: Array,
        Y: Array,
        alpha: float,
        fit_intercept: bool = True,
        sw: Array | None = None,
        loss: str = "squared",
    ) -> tuple[float, float]:
        y, sw = np.ravel(Y), _ones(X, sw)
        query = np.zeros(len(X)) if groups is None else np.asarray(groups)
        means, totals, tests = [], [], []
        D, weight = _all_pairs(len(X), query, sw)
        blur = NO_DECISION * np.ptp(y) * reach(D @ X, alpha, False, weight)
        for train, test in splits:
            D, weight = _all_pairs(len(test), query[test], sw[test])
            w = rank_rls(X[train], y[train], alpha, query[train], sw[train])
            costs = _pair_losses(y[test], X[test] @ w, D, loss, blur)
            counts = (weight > 0) & ~np.isnan(costs)
            if counts.any():
                totals.append(weight[counts].sum())
                means.append(weight[counts] @ costs[counts] / totals[-1])
                tests.append(test)
        if not means:
            return UNDEFINED
        value = np.average(means, weights=totals if pooled else None)
        return float(value), _se_of_parts(np.array(means), tests, sw)

    return error


# --- significance ---------------------------------------------------------------------------------


def max_t_p_value(
    X: Array,
    Y: Array,
    alpha: float,
    chosen: Sequence[int],
    feature: int,
    candidates: Iterable[int],
    dealt: Iterable[NDArray[Any]],
    fit_intercept: bool = True,
    sw: Array | None = None,
) -> float:
    """Permutation p-value (max-T) of adding a feature, by literal refits on permuted residuals.

    The gain of a candidate is the part of the least penalised squared error that its addition takes
    away. For every permutation the residuals of the chosen features' ridge fit, less their mean and
    divided by the standard deviation that noise of variance one would give them (fitted features
    take some of it away), are dealt out anew over the samples of positive weight and added to the
    fitted values; every candidate is refitted to that.
    """
    sw = _ones(X, sw)
    live = np.flatnonzero(sw > 0)
    X, Y, sw = X[live], Y[live], sw[live]

    def least(features: Sequence[int], T: Array) -> float:
        coef, intercept = ridge(X[:, features], T, alpha, fit_intercept, sw)
        left = T - X[:, features] @ coef - intercept
        return float((sw[:, None] * left**2).sum() + alpha * (coef**2).sum())

    def gain(i: int, T: Array) -> float:
        before = least(list(chosen), T)
        return (before - least([*chosen, i], T)) / before

    coef, intercept = ridge(X[:, list(chosen)], Y, alpha, fit_intercept, sw)
    fitted = X[:, list(chosen)] @ coef + intercept
    residuals = Y - fitted
    if fit_intercept:
        residuals = residuals - residuals.mean(0)
    unit = np.eye(len(X))
    coef, intercept = ridge(X[:, list(chosen)], unit, alpha, fit_intercept, sw)
    taken = X[:, list(chosen)] @ coef + intercept
    if fit_intercept:
        taken = taken - sw / sw.sum()
    residuals = residuals / np.maximum(np.sqrt(((unit - taken) ** 2).sum(1)), 1e-6)[:, None]
    observed = gain(feature, Y)
    others = [i for i in candidates if i not in chosen and np.ptp(X[:, i]) > 0]
    largest = [max(gain(i, fitted + residuals[order]) for i in others) for order in dealt]
    reached = sum(value >= observed * (1 - 1e-9) for value in largest)
    return (1 + reached) / (1 + len(largest))
