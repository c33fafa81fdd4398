"""Stability of a selection: the same search on random halves of the data.

The samples are split into two random halves repeatedly, and the search is run on each half
(complementary pairs: Shah and Samworth 2013). Let z_if be 1 if run i of M selected feature f of d,
and p_f the fraction of runs that did:

- **frequencies** p_f, per size;
- **Nogueira's index** of the selection, 1 for the same subset every time and 0 for random subsets,
  whatever their sizes (Nogueira, Sechidis and Brown 2018):

      Phi = 1 - mean_f s_f^2 / (k/d (1 - k/d)),     s_f^2 = M/(M-1) p_f (1 - p_f),     k = mean size

  with its standard error from the contributions phi_i of the runs;
- **false features**: among those with p_f >= pi, at most k^2 / ((2 pi - 1) d) are expected to be
  noise (Meinshausen and Buehlmann 2010, if noise features are exchangeable; Shah and Samworth 2013
  for features that are selected no more often than at random, k/d);
- **interchangeable features**: two features that are selected together less often than by chance,
  though each is selected often, and that are correlated; and copies of a frequently selected
  feature, even if the search selects the same one every time.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import hypergeom
from sklearn.base import is_classifier

from sparsepath.assessment import plots as pictures
from sparsepath.assessment.metrics import Floats
from sparsepath.assessment.repetitions import (
    LOADED,
    Repetition,
    RepetitionResult,
    check_repeats,
    data_by_rows,
    has_path,
    searches,
    selects_columns,
    with_groups,
)
from sparsepath.assessment.summary import Summary
from sparsepath.data.folds import numbers
from sparsepath.data.names import NumberedNames
from sparsepath.data.sources import Source
from sparsepath.errors import InputError
from sparsepath.system.arrays import Axes
from sparsepath.system.frames import Make, make_frame
from sparsepath.system.interrupts import Interruptible

Z90 = 1.6448536269514722
OFTEN = 0.1  # parts of runs below this: too few to say what a feature stands in for
CORRELATED = 0.3  # absolute correlation from which features may stand in for each other
ONE_FEATURE = 1 - 1e-9  # and from which they are one feature, but for its units
FIRM = 0.75  # a feature is chosen firmly if in this part of the runs
RARELY = 0.05  # level of "more rarely together than by chance", over all pairs looked at


@dataclass(frozen=True, eq=False, repr=False)
class Stability(Summary):
    """Result of :func:`stability`: features selected on random halves of the data.

    Attributes
    ----------
    sizes : tuple of int
        Sizes on the paths.
    frequencies : array of shape (K, n_features)
        Fraction of runs in which a feature was selected, by size.
    indices, indices_se : array of shape (K,)
        Nogueira's index by size, and its standard error.
    feature_names : tuple of str
        Names of the features.
    runs : array of bool, shape (K, n_runs, n_often)
        Whether a run selected a feature of ``often``.
    often : array of int
        Features selected in at least a tenth of the runs, and copies of them.
    correlations : array of shape (n_often, n_often)
        Absolute correlations of these features.
    """

    sizes: tuple[int, ...]
    frequencies: Floats
    indices: Floats
    indices_se: Floats
    feature_names: tuple[str, ...]
    runs: NDArray[np.bool_]
    often: NDArray[np.intp]
    correlations: Floats

    @property
    def n_runs(self) -> int:
        """Number of halves on which the search was run."""
        return self.runs.shape[1]

    def stand_ins(self, size: int) -> list[tuple[str, ...]]:
        """Return groups of interchangeable features at a size.

        Parameters
        ----------
        size : int
            One of ``sizes``.
        """
        groups = _groups(self.runs[self._at(size)], self.correlations)
        return [tuple(self.feature_names[self.often[i]] for i in group) for group in groups]

    def index(self, size: int) -> float:
        """Return Nogueira's index at a size.

        Parameters
        ----------
        size : int
            One of ``sizes``.
        """
        return float(self.indices[self._at(size)])

    def interval(self, size: int) -> tuple[float, float]:
        """Return a 90 % interval of the index at a size.

        Parameters
        ----------
        size : int
            One of ``sizes``.
        """
        at = self._at(size)
        half = Z90 * self.indices_se[at]
        return float(self.indices[at] - half), float(min(1.0, self.indices[at] + half))

    def frequency(self, size: int) -> dict[str, float]:
        """Return how often each feature was selected at a size, the most frequent first.

        Parameters
        ----------
        size : int
            One of ``sizes``.
        """
        row = self.frequencies[self._at(size)]
        order = np.lexsort((np.arange(len(row)), -row))
        return {self.feature_names[i]: float(row[i]) for i in order if row[i] > 0}

    def expected_false(self, size: int, threshold: float = FIRM) -> float:
        """Return a bound on the expected number of false features among frequently selected ones.

        Parameters
        ----------
        size : int
            One of ``sizes``.
        threshold : float
            Count features selected in at least this fraction of the runs.
        """
        if not 0.5 < threshold <= 1:
            raise InputError(f"threshold={threshold!r}; give a number above 0.5, at most 1.")
        chosen = self.frequencies[self._at(size)].sum()
        return float(chosen**2 / ((2 * threshold - 1) * self.frequencies.shape[1]))

    def sentence(self, size: int | None = None) -> str:
        """Return the result at one size in one sentence.

        Parameters
        ----------
        size : int, optional
            One of ``sizes``; default: the largest.
        """
        size = self.sizes[-1] if size is None else size
        chosen = self.frequency(size)
        listed = ", ".join(f"{n} {p:.0%}" for n, p in list(chosen.items())[:8])
        where = f"Over {self.n_runs} random halves of the data the selection of {size}"
        if np.isnan(self.index(size)):
            return f"{where} is {'all' if listed else 'none'} of the features every time."
        low, high = self.interval(size)
        firm = sum(p >= FIRM for p in chosen.values())
        by_chance = self.expected_false(size)
        often = f"{firm or 'none'}"
        if (
            firm and by_chance < firm
        ):  # else the bound says nothing: too few features to choose from
            often += f"; chance alone would give at most {by_chance:.2g}"
        return (
            f"{where} has a stability of "
            f"{self.index(size):.2f} ({low:.2f} to {high:.2f}; 1 is the same every time); "
            f"selected most often: {listed or 'nothing'}. Features selected in at least 75 % of "
            f"the halves: {often}."
        )

    def to_frame(self, backend: Make = None) -> Any:
        """Return a data frame with one row per size and feature that was ever selected.

        Columns: size, feature, frequency.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Data frame library; by default the first that is installed.
        """
        rows, columns = np.nonzero(self.frequencies)
        return make_frame(
            {
                "size": [self.sizes[k] for k in rows],
                "feature": [self.feature_names[i] for i in columns],
                "frequency": self.frequencies[rows, columns].tolist(),
            },
            backend,
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw how often features were selected, by size.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on.
        """
        return pictures.plot_stability(self.sizes, self.frequencies, self.feature_names, ax)

    def _at(self, size: int) -> int:
        if size not in self.sizes:
            raise InputError(f"no size {size}; the sizes are {list(self.sizes)}.")
        return self.sizes.index(size)


def stability(
    estimator: Any,
    X: Any,
    y: Any,
    n_halves: int = 50,
    *,
    groups: Any = None,
    random_state: int = 0,
    callback: Callable[[int, int], object] | None = None,
    **fit_params: Any,
) -> Stability:
    """Measure how stable a selection is, by repeating the search on random halves.

    Parameters
    ----------
    estimator : estimator with a path, or any scikit-learn selector or predictor
        It is cloned; only its search is repeated, without validation. A selector without a path has
        one size, the number of columns that it usually selects.
    X, y : array, sparse matrix or data frame; array
        As given to ``fit``.
    n_halves : int
        Number of halves, in complementary pairs: an even number.
    groups : array, optional
        Group labels; groups are kept together, and passed on to ``fit`` if it takes groups.
    random_state : int
        Seed of the halves.
    callback : callable, optional
        Called with the number of finished halves and their total. A true return value stops the
        work, as does Ctrl-C; the finished halves are used if there are at least two.
    **fit_params
        More arguments of ``fit``.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sparsepath import LarsSelector, stability
    >>> X, y = load_diabetes(return_X_y=True)
    >>> found = stability(LarsSelector(4), X, y, 20)
    >>> found.index(2) > 0.9, found.sizes
    (True, (1, 2, 3, 4))
    """
    if not selects_columns(estimator):
        raise InputError(
            f"{type(estimator).__name__} selects samples, and two halves have no "
            "samples in common; stability needs a selector of columns."
        )
    given = with_groups(estimator, fit_params, groups)
    X, y, given, _ = data_by_rows(X, y, given, LOADED)
    if isinstance(X, Source):
        raise InputError(
            f"the data have {X.shape[0]:,} x {X.shape[1]:,} numbers, and stability reads up to "
            f"{LOADED:,} of them into memory; use a sample of the rows."
        )
    halves = halves_of(estimator, y, n_halves, groups, random_state)
    check_repeats(estimator)
    done = searches(estimator, X, y, given, halves)
    found: list[RepetitionResult] = []
    with Interruptible(keep=lambda: len(found) > 1):
        while len(found) < n_halves:
            if callback is not None and callback(len(found), n_halves) and len(found) > 1:
                break
            found.append(next(done))
    sizes = tuple(sorted({size for one in found for size in one.subsets if size}))
    if not has_path(estimator):  # each half has its own size: one row for the usual one
        sizes = (int(np.median([max(one.subsets) for one in found])),)
    chosen = np.zeros((len(sizes), len(found), X.shape[1]), dtype=bool)
    for i, one in enumerate(found):
        for k, size in enumerate(sizes):
            chosen[k, i, list(one.subset(size))] = True
    indices = [nogueira(Z) for Z in chosen]
    often, correlations = _with_copies(
        X, np.flatnonzero(chosen.mean(1).max(0, initial=0.0) >= OFTEN)
    )
    return Stability(
        sizes,
        chosen.mean(1),
        np.array([index for index, _ in indices]),
        np.array([se for _, se in indices]),
        _names(X),
        chosen[:, :, often],
        often,
        correlations,
    )


def halves_of(
    estimator: Any, y: Any, times: int, groups: Any = None, random_state: int = 0
) -> list[Repetition]:
    """Return random halves in complementary pairs, stratified for classification."""
    if not isinstance(times, int) or times < 2 or times % 2:
        raise InputError(f"n_halves={times!r}; give an even number from 2 up.")
    rng = np.random.default_rng(random_state)
    labels = np.asarray(y) if is_classifier(estimator) else None
    pairs = [split_in_two(rng, len(y), labels, groups) for _ in range(times // 2)]
    return [Repetition(rows=half) for pair in pairs for half in pair]


def split_in_two(
    rng: np.random.Generator, n: int, labels: Any = None, groups: Any = None
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return two random halves of every class, or of whole groups."""
    if groups is not None:
        named, of = np.unique(np.asarray(groups), return_inverse=True)
        order = rng.permutation(len(named))
        first = np.isin(of, order[: len(named) // 2])
    else:
        first = np.zeros(n, dtype=bool)
        of = np.zeros(n, int) if labels is None else np.unique(labels, return_inverse=True)[1]
        odd = 0
        for label in range(of.max(initial=0) + 1):
            rows = rng.permutation(np.flatnonzero(of == label))
            first[rows[: (len(rows) + odd % 2) // 2]] = True  # who gets the odd one alternates
            odd += len(rows) % 2
    return np.flatnonzero(first), np.flatnonzero(~first)


def nogueira(Z: NDArray[np.bool_]) -> tuple[float, float]:
    """Return Nogueira's index of M subsets of d features (M x d) and its standard error.

    NaN if undefined.

    >>> nogueira(np.array([[1, 0, 0], [1, 0, 0]], dtype=bool))
    (1.0, 0.0)
    """
    M, d = Z.shape
    p, sizes = Z.mean(0), Z.sum(1)
    k = sizes.mean()
    scale = k / d * (1 - k / d)
    if M < 2 or not scale > 0:
        return float("nan"), float("nan")
    index = 1 - (M / (M - 1) * p * (1 - p)).mean() / scale
    shares = (
        Z @ p / d - sizes * k / d**2 + index / 2 * (2 * k * sizes / d**2 - sizes / d - k / d + 1)
    ) / scale
    variance = 4 / M**2 * np.square(shares - shares.mean()).sum()
    return float(index), float(np.sqrt(variance))


def _groups(Z: NDArray[np.bool_], correlations: Floats) -> list[list[int]]:
    """Return groups of interchangeable columns of Z (runs x features): copies and correlated ones.

    Two correlated features are interchangeable if they are selected together significantly less
    often than by chance: the hypergeometric probability must be at most CHANCE divided by the
    number of tested pairs.
    """
    M, n = Z.shape
    counts = Z.sum(0)
    some = counts >= OFTEN * M
    pairs = np.argwhere(np.triu(correlations >= CORRELATED, 1) & (some[:, None] | some))
    both = int(some[pairs].all(1).sum())
    group = list(range(n))
    for a, b in pairs.tolist():
        alone = correlations[a, b] >= ONE_FEATURE
        if not alone and some[a] and some[b]:
            together = int((Z[:, a] & Z[:, b]).sum())
            alone = hypergeom.cdf(together, M, counts[a], counts[b]) <= RARELY / both
        if alone:
            old, new = group[b], group[a]
            group = [new if g == old else g for g in group]
    named = dict.fromkeys(group)
    members = [[i for i in range(n) if group[i] == g] for g in named]
    return [m for m in members if len(m) > 1]


def _with_copies(X: Any, columns: NDArray[np.intp]) -> tuple[NDArray[np.intp], Floats]:
    """Return these columns with all their copies, and absolute correlations."""
    A = numbers(X)
    if hasattr(A, "tocsr"):
        spread = np.sqrt(np.maximum(A.multiply(A).mean(0) - np.square(A.mean(0)), 0.0))
    else:
        spread = A.std(0)
    norms = np.asarray(spread).ravel() * np.sqrt(A.shape[0])
    norms[norms == 0] = np.inf

    def scaled(some: NDArray[np.intp]) -> Floats:
        part = A[:, some]
        part = np.asarray(part.todense() if hasattr(part, "todense") else part)
        return np.asarray((part - part.mean(0)) / norms[some])

    along = np.abs(np.asarray(A.T @ scaled(columns))) / norms[:, None]
    columns = np.union1d(columns, np.flatnonzero((along >= ONE_FEATURE).any(1)))
    chosen = scaled(columns)
    return columns, np.abs(chosen.T @ chosen)


def _names(X: Any) -> tuple[str, ...]:
    columns = getattr(X, "column_names", getattr(X, "columns", None))
    return tuple(NumberedNames(X.shape[1]) if columns is None else map(str, columns))
