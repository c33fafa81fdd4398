"""Several penalties of greedy RLS for a table whose columns are prepared in the fit.

Each part of the table has a preparation of its own, so the refits of ``alpha="auto"``
(``rls/penalties.py``) use the numbers that are made without that part.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from sklearn.base import clone

from sparsepath.assessment.metrics import Metric
from sparsepath.assessment.repetitions import RepetitionResult
from sparsepath.data.folds import Rows
from sparsepath.methods.target_transform import SCALES, TargetScale
from sparsepath.models.predictors import INVERSE_LINKS
from sparsepath.path.selection_path import SelectionPath
from sparsepath.rls.penalties import GivenPenalties, Penalties, PenaltyGrid
from sparsepath.system.arrays import Floats


class TablePenalties:
    """The penalties of an inner selector, as ways of a ``TableSelector``.

    Parameters
    ----------
    table_selector : TableSelector
        The selector of the table.
    inner : GivenPenalties
        The penalties of the inner selector, on the numeric columns made of all rows.
    table : RawTable
        All rows.
    """

    def __init__(self, table_selector: Any, inner: GivenPenalties, table: Any) -> None:
        self._inner, self._table = inner, table
        whole = clone(table_selector).set_params(selector=clone(table_selector._selector))
        self.estimators: Mapping[Any, Any] = {
            alpha: clone(whole).set_params(selector__alpha=alpha) for alpha in inner.estimators
        }
        self.names: Sequence[Any] = inner.names
        self.metric: Metric | None = inner.metric
        self.plain: Sequence[Any] = ()

    def outputs(
        self, name: float, found: RepetitionResult, train: Rows, test: Rows
    ) -> Mapping[Penalties, Mapping[int, Floats]]:
        """Return for every penalty the outputs of the models of a search, by table columns."""
        plain, model = found.outputs(test), found.model
        if model is None or not isinstance(self._inner, PenaltyGrid):
            return {way: plain for way in self.names if way.search == name}
        sizes, path = model._sizes, model.selector_.path_
        numbers = RepetitionResult({k: path.subset(k) for k in sizes.values()}, {}, found.outputs)
        Z, scale = model.preparation_.transform(self._table), SCALES.get(model.transform_ or "")
        made = self._on(Z, scale).outputs(name, numbers, train, test)
        if model.transform_ is None:
            return {
                way: {s: of[k] for s, k in sizes.items() if k in of} for way, of in made.items()
            }
        back = INVERSE_LINKS[model.transform_]
        return {
            way: {s: back(of[k]) if k else plain[s] for s, k in sizes.items()}
            for way, of in made.items()
        }

    def are_logits(self, name: Penalties, metric: Metric) -> bool:
        """Return whether the outputs are logarithms of odds."""
        return self._inner.are_logits(name, metric)

    def refitted(
        self, Z: Floats, scale: TargetScale | None, path: SelectionPath, alpha: float
    ) -> SelectionPath:
        """Return the path of a search on columns of numbers, with the coefficients of a penalty."""
        return self._on(Z, scale).refitted(path, alpha)

    def _on(self, Z: Floats, scale: TargetScale | None) -> GivenPenalties:
        """Return the penalties on columns made of all rows, with the target on a scale."""
        if not isinstance(self._inner, PenaltyGrid):
            return self._inner
        return self._inner.on(Z, None if scale is None else scale.forward(self._inner.targets))
