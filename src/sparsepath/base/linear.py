"""Mixin for linear models: coefficients in units of the data."""

from typing import Any

import numpy as np

from sparsepath.base.selector import PathSelector


class LinearModelMixin(PathSelector):
    """Mixin that sets ``coef_`` and ``intercept_``: a vector and a number for one target.

    Otherwise ``coef_`` has one row per target or class (one row for two classes).
    """

    intercept_: Any
    _n_folds = 10  # linear models are soon fitted again
    _one_target: bool

    def _take(self, size: int) -> None:
        super()._take(size)
        model: Any = self.path_.model(size)
        model = getattr(model, "model", model)  # of the linear predictor, if there is a link
        coef = np.zeros((model.coef.shape[1], self.n_features_in_))
        coef[:, self.selected_] = model.coef.T
        self.coef_, self.intercept_ = coef, model.intercept.copy()
        if self._one_target:
            self.coef_, self.intercept_ = coef[0], float(model.intercept[0])
