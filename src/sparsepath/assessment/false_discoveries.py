r"""Features at a false discovery rate, by knockoffs.

Knockoffs (Candes, Fan, Janson and Lv 2018) are copies of the columns that have the same
correlations with each other and with the other columns, and no relation to y. The search runs on
the columns and their knockoffs together. W_j is larger the earlier column j or its knockoff enters,
positive if the column comes first. For noise both signs are equally likely, so that with

    T = min t such that (1 + #{W_j <= -t}) / #{W_j >= t} <= q

the features with W_j >= T have a false discovery rate of at most q. Fewer than 1/q features are
never selected. With more than twice as many rows as columns, knockoffs have exactly these
correlations in the sample (Barber and Candes 2015), for linear models of any columns; the proof
needs a W that depends on products of columns alone, which a leave-one-out search does not quite
have. Otherwise they are drawn for columns that are normal with known covariance (here: the shrunk
estimate of Ledoit and Wolf 2004).

With covariance Sigma and s on the diagonal of S, knockoffs of standardised rows x are normal with
mean x - S Sigma^-1 x and covariance 2 S - S Sigma^-1 S. The s maximise the entropy of columns and
knockoffs together (Gimenez and Zou 2019), one coordinate after the other:

    s_j = a_j / 2,   a_j = s_j + 1 / [(2 Sigma - S)^-1]_jj.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import cholesky, solve
from sklearn.covariance import ledoit_wolf

from sparsepath.assessment.repetitions import fit_clone, has_path, last_step, quiet_copy
from sparsepath.assessment.summary import Summary
from sparsepath.errors import InputError
from sparsepath.system.arrays import Floats
from sparsepath.tables.cells import names_of

STREAM = 7321  # so that data drawn with the same seed are not drawn again
SWEEPS, SETTLED = 30, 1e-4
MOST_COLUMNS = 2000  # whose covariance is inverted in a few seconds
NEARLY = 1e-6  # of an eigenvalue: how far s stays from the boundary
CONSTRAINTS = ("forced", "forbidden", "start", "feature_groups", "feature_costs", "parents")


@dataclass(frozen=True, eq=False, repr=False)
class Discoveries(Summary):
    """Result of :func:`knockoffs`.

    Attributes
    ----------
    features : tuple of str
        Selected features, largest statistic first.
    fdr : float
        The false discovery rate that was requested.
    statistics : array of shape (n_features,)
        W of each column; zero if neither it nor its knockoff entered.
    threshold : float
        T; infinite if no feature is selected.
    feature_names : tuple of str
        Names of all columns.
    """

    features: tuple[str, ...]
    fdr: float
    statistics: Floats
    threshold: float
    feature_names: tuple[str, ...]

    def named(self, names: Sequence[str]) -> "Discoveries":
        """Return the same with other names of the columns.

        Parameters
        ----------
        names : sequence of str
            Names of all columns.
        """
        known = dict(zip(self.feature_names, names, strict=True))
        features = tuple(known[name] for name in self.features)
        return replace(self, features=features, feature_names=tuple(names))

    def sentence(self) -> str:
        """Return the selected features in words."""
        rate, least = f"{100 * self.fdr:.3g} %", int(np.ceil(1 / self.fdr))
        few = f" (at this rate there are at least {least}, or none)"
        names = ", ".join(self.features) or "none"
        return (
            f"At a false discovery rate of {rate}: {len(self.features)} features{few}: {names}. "
            "By knockoffs; for few rows the columns are assumed to be roughly normal."
        )

    def to_frame(self, backend: Any = None) -> Any:
        """Return a data frame with one row per column: feature, statistic and selected.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Data frame library; by default the first that is installed.
        """
        from sparsepath.system.frames import make_frame

        columns = {
            "feature": list(self.feature_names),
            "statistic": self.statistics.tolist(),
            "selected": (self.statistics >= self.threshold).tolist(),
        }
        return make_frame(columns, backend)


def knockoffs(
    estimator: Any, X: Any, y: Any, fdr: float = 0.1, *, random_state: int = 0, **fit_params: Any
) -> Discoveries:
    """Select features at a false discovery rate, by a search among columns and their knockoffs.

    Parameters
    ----------
    estimator : selector with a path
        It is cloned; its search runs without validation on twice the columns.
    X, y : array or data frame of numbers; array
        As given to ``fit``.
    fdr : float
        Expected fraction of noise among the selected features.
    random_state : int
        Seed of the knockoffs, on which the selection depends.
    **fit_params
        More arguments of ``fit``.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsepath import SparseRLSRegressor, knockoffs
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((300, 60))
    >>> y = X[:, :15].sum(1) + rng.standard_normal(300)
    >>> found = knockoffs(SparseRLSRegressor(), X, y, fdr=0.1)
    >>> len({f"x{j}" for j in range(15)} & set(found.features))
    15
    """
    _refuse(estimator, fdr)
    known = names_of(X)
    A = np.asarray(X, dtype=np.float64)
    if A.ndim != 2 or not np.isfinite(A).all():
        raise InputError("knockoffs require a numeric table without missing values.")
    n = A.shape[1]
    if n > MOST_COLUMNS:
        raise InputError(f"knockoffs are for {MOST_COLUMNS:,} columns or fewer; there are {n:,}.")
    spread = A.std(0)
    if not spread.all():
        raise InputError("knockoffs need columns that are not constant; leave them out.")
    names = tuple(f"x{j}" for j in range(n)) if known is None else tuple(known)
    rng = np.random.default_rng([STREAM, random_state])
    Z = (A - A.mean(0)) / spread
    both = np.hstack((Z, _copies(Z, rng)))
    order = rng.permutation(2 * n)  # equal errors favour neither side
    path = last_step(fit_clone(quiet_copy(estimator), both[:, order], y, fit_params)).path_
    entered = dict.fromkeys(int(order[j]) for subset in path.subsets for j in subset)
    statistics = np.zeros(n)
    for place, column in enumerate(entered):
        j = column % n
        if statistics[j] == 0:
            statistics[j] = (2 * n - place) * (1.0 if column < n else -1.0)
    threshold = _threshold(statistics, fdr)
    chosen = np.flatnonzero(statistics >= threshold)
    chosen = chosen[np.argsort(-statistics[chosen], kind="stable")]
    return Discoveries(tuple(names[j] for j in chosen), fdr, statistics, threshold, names)


def _refuse(estimator: Any, fdr: float) -> None:
    if not has_path(estimator):
        raise InputError(f"{type(estimator).__name__} has no path; knockoffs need a selector.")
    if not isinstance(fdr, float) or not 0 < fdr < 1:
        raise InputError(f"fdr={fdr!r}; give a number between 0 and 1, such as 0.1.")
    given = estimator.get_params(deep=False)
    for name in CONSTRAINTS:
        if given.get(name) is not None and len(given[name]):
            raise InputError(f"knockoffs exclude {name}; remove it.")


def _copies(Z: Floats, rng: np.random.Generator) -> Floats:
    """Return knockoffs of standardised columns."""
    m, n = Z.shape
    fixed = m > 2 * n
    sigma = Z.T @ Z / m if fixed else ledoit_wolf(Z, assume_centered=True)[0]
    scale = np.sqrt(sigma.diagonal())
    sigma = sigma / np.outer(scale, scale)
    s = _entropy(sigma)
    part = solve(sigma, np.diag(s), assume_a="pos")
    spread = 2 * np.diag(s) - s[:, None] * part
    root = cholesky(spread + NEARLY * np.eye(n), lower=True)
    noise = rng.standard_normal(Z.shape)
    if fixed:  # exactly uncorrelated with the columns
        span = np.linalg.qr(np.column_stack((np.ones(m), Z)))[0]
        noise = np.linalg.qr(noise - span @ (span.T @ noise))[0] * np.sqrt(m)
    return np.asarray(Z - Z @ part + noise @ root.T)


def _entropy(sigma: Floats) -> Floats:
    """Return the s of largest entropy, for a correlation matrix."""
    n = len(sigma)
    least = float(np.linalg.eigvalsh(sigma)[0])
    s = np.full(n, min(1.0, least))
    inverse = np.linalg.inv(2 * sigma - np.diag(s))
    for _ in range(SWEEPS):
        before = s.copy()
        for j in range(n):
            new = (s[j] + 1 / inverse[j, j]) / 2
            step, s[j] = new - s[j], new
            column = inverse[:, j].copy()
            inverse += np.outer(column, column) * (step / (1 - step * column[j]))
        if np.abs(s - before).max() < SETTLED:
            break
    return s * (1 - NEARLY)


def _threshold(W: Floats, q: float) -> float:
    """Return the least t at which the estimated rate is at most q.

    >>> _threshold(np.array([5.0, 4.0, 3.0, -2.0, 1.0]), 0.4)
    3.0
    """
    for t in np.sort(np.abs(W[W != 0])):
        if (1 + np.count_nonzero(-t >= W)) <= q * np.count_nonzero(t <= W):
            return float(t)
    return float("inf")
