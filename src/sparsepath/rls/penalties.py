"""``alpha="auto"``: the penalty of the search and that of the coefficients, by honest errors.

The search and the fit want different penalties. A search with a strong one averages over noisy
columns, as in wide data, and the coefficients of the chosen columns want a penalty of their own. So
there are two searches, and the columns of each are refitted with seven penalties
(``shrinkage.py``). All fourteen are judged on the same samples left out. With ``choose="one_se"``
the strongest refit is used whose least honest error is within one standard error of the least of
all (paired), of two searches the weaker one; with "min" the pair with the least error. On its path
``choose`` takes the size. The error is corrected for the choice of both; if it is then not below
that of the empty model (with "one_se" clearly so), the empty model is chosen.

Penalties are relative to the mean squared norm of the columns, as scaled: the number of samples if
columns are standardised. Measured on the 17 sets of docs/results/arena.md and four simulated ones,
10 to 20 splits of each that the page does not use: squared error as a ratio to alpha = 1 (geometric
means) or points of error rate:

    searches, refits, order of preference     numbers   spectra   classes   wide classes
    1, 10 and 1e-4; seven; strongest refit    0.95      0.84      -3.1      -4.8
    1 and 10; six (not 10); strongest refit   0.95      0.84      -2.9      -4.4
    1 and 10; six; strongest search           0.97      0.86      -3.2      -4.9
    1 alone; six                              0.95      0.88      -1.9      -3.0
    10 alone; six                             0.99      1.04      -3.1      -5.0
    1 and 1e-4; five; the least of all        0.95      0.90      -2.4      -3.7

The last line is what came before. It lacked a strong search for wide data, and 1e-3 for spectra:
between 1e-2 and 1e-4 no refit came near what alpha = 1 does there. (A standard error is 0.1 for
spectra and 1 for wide classes.) With choose="min" spectra reach 0.74.

The criterion of the search cannot choose a penalty: in wide data it always likes the weakest. So
without validation the penalty is ``PLAIN``, and so it is beyond ``MOST_SAMPLES`` samples and with
``ROWS_PER_COLUMN`` samples for every column, where little depends on it: on boston, diabetes,
german, poland and breast cancer the ratios are 1.00, 1.01 and 1.00, and -0.3 and 0.2 points.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from sklearn.base import clone

from sparsepath.assessment.repetitions import Searched
from sparsepath.path.selection_path import SelectionPath
from sparsepath.rls.design import Design
from sparsepath.rls.shrinkage import Refits
from sparsepath.system.arrays import Floats, Indices

AUTO = "auto"
PLAIN = 1.0
SEARCHES = (1.0, 10.0)
REFITS = (10.0, 1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-6)
MOST_SAMPLES = 10_000
ROWS_PER_COLUMN = 10


class Penalties(NamedTuple):
    """Penalty of the search, and penalty of the coefficients."""

    search: float
    refit: float


def penalty_matters(n_samples: int, n_features: int) -> bool:
    """Return whether the data are small and wide enough for the choice of a penalty to matter."""
    return n_samples <= MOST_SAMPLES and n_samples < ROWS_PER_COLUMN * n_features


class GivenPenalties:
    """Searches with given penalties, whose models are used unchanged."""

    def __init__(self, estimator: Any, alphas: Sequence[float]) -> None:
        self.estimators: Mapping[Any, Any] = {
            alpha: clone(estimator).set_params(alpha=alpha) for alpha in alphas
        }
        self.names = [Penalties(alpha, alpha) for alpha in sorted(alphas, reverse=True)]

    def outputs(
        self, name: float, found: Searched, train: Indices, test: Indices
    ) -> Mapping[Penalties, Mapping[int, Floats]]:
        """Return the outputs of the models of a search."""
        return {Penalties(name, name): found.outputs(test)}


class PenaltyGrid(GivenPenalties):
    """Two searches, and refits of their columns with several penalties.

    The strongest refit is preferred, then the first search.
    """

    def __init__(self, estimator: Any, X: Any, Y: Floats, weights: Floats, scale: float) -> None:
        super().__init__(estimator, [scale * alpha for alpha in SEARCHES])
        self._refits = [scale * alpha for alpha in REFITS]
        self.names = [Penalties(name, alpha) for alpha in self._refits for name in self.estimators]
        self._X, self._Y, self._weights = X, Y, weights
        self._options = {
            name: getattr(estimator, name) for name in ("fit_intercept", "standardize")
        }

    def outputs(
        self, name: float, found: Searched, train: Indices, test: Indices
    ) -> Mapping[Penalties, Mapping[int, Floats]]:
        """Return the outputs of the refitted models, by size."""
        given = self._X[train], self._Y[train], self._weights[train]
        each = Refits(*given, **self._options).outputs(found.subsets, self._refits, self._X[test])
        return {
            Penalties(name, alpha): {size: of[i] for size, of in each.items()}
            for i, alpha in enumerate(self._refits)
        }


def refitted(
    path: SelectionPath, alpha: float, X: Any, Y: Floats, weights: Floats, **options: bool
) -> SelectionPath:
    """Return the path with coefficients of another penalty; its errors are still those of the
    search.
    """
    subsets = dict(zip(path.sizes, path.subsets, strict=True))
    models = Refits(X, Y, weights, **options).models(subsets, alpha)
    steps = []
    for step in path.steps:
        coef, intercept = models[len(step.subset)]
        steps.append(replace(step, coef=coef, intercept=intercept))
    return path.replaced(steps=steps)


def scale_of(design: Design) -> float:
    """Return the mean squared norm of the varying columns, after scaling."""
    live = design.squares[~design.constant]
    return design.total if design.standardize or not len(live) else float(live.mean())
