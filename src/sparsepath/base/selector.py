"""Base classes of estimators with a selection path."""

import copy
import inspect
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from sparsepath.assessment.folds import check_validation
from sparsepath.assessment.honest import Honest
from sparsepath.assessment.validation import BY_ITSELF, validate
from sparsepath.base.callbacks import Callback, CallbackSupportMixin
from sparsepath.data.fit_arguments import Given
from sparsepath.data.validation import check_features
from sparsepath.errors import InputError
from sparsepath.models.export import export
from sparsepath.models.predictors import Predictor
from sparsepath.models.saved import SavedModel
from sparsepath.path.selection_path import SelectionPath
from sparsepath.system.arrays import Floats

CALLED_HERE = {  # parameters of other selectors
    "n_features_to_select": "choose=K for exactly K features, max_features=K for K at the most",
    "n_nonzero_coefs": "choose=K for exactly K features, max_features=K for K at the most",
    "scoring": "loss",
    "direction": 'search="forward" or "backward"',
}


class PathSelector(SelectorMixin):
    """Base class of estimators that use one model on their path, and only its columns.

    Attributes
    ----------
    path_ : SelectionPath
        Best subset, error and model for every size.
    models_ : dict of size to Predictor
        Model of every size on the path: small, immutable, JSON by ``to_dict``. Empty if the
        selector does not predict.
    selected_ : array of int
        Selected columns.
    honest_ : Honest or None
        Size in use and its honest error (nested cross-validation); None if ``validation`` is None.
    n_features_in_, feature_names_in_ : int, array of str
        Number of columns seen by ``fit``, and their names if X had any.
    """

    path_: SelectionPath
    n_features_in_: int
    honest_: Honest | None
    _n_folds = 10  # of the default validation
    _validated = validate

    def __new__(cls, *_: Any, **given: Any) -> Self:
        """Suggest the name used here for a parameter of another selector."""
        known = inspect.signature(cls.__init__).parameters if given else {}
        for name in given.keys() & CALLED_HERE.keys() - known.keys():
            raise TypeError(f"{cls.__name__} has no {name!r}; use {CALLED_HERE[name]}.")
        return super().__new__(cls)

    @property
    def models_(self) -> dict[int, Predictor]:
        """Model of every size on the path; ``predict`` of each returns numbers or scores."""
        check_is_fitted(self)
        return self.path_.models

    def _take(self, size: int) -> None:
        """Use the model of this size from now on."""
        self.selected_ = np.array(self.path_.subset(size), dtype=np.intp)

    def _scores(self, X: Any) -> Floats:
        """Return the outputs of the model in use, n x T; other columns have no influence."""
        check_is_fitted(self)
        model = self.path_.model(len(self.selected_))
        scores = model.predict(check_features(self, X, reset=False))
        return scores.reshape(len(scores), -1)

    def _settle_on(self, path: SelectionPath, given: Given) -> int:
        """Return the size to use on a finished path.

        All sizes are chosen here, unless the method determines its own size. ``given`` are the
        arguments of the fit, for rules that use the data again.
        """
        return path.settle(getattr(self, "choose", "min"))

    def _check_validation(self, n_samples: int) -> None:
        """Raise an error if ``validation`` gives no valid splits of these samples."""
        validation = getattr(self, "validation", None)
        if validation is not None and not (isinstance(validation, str) and validation == BY_ITSELF):
            check_validation(validation, n_samples)

    @property
    def _own_size(self) -> int | None:
        """Return the size at which the fitted method ended; None if a rule chose it."""
        return None if "choose" in self.get_params(deep=False) else len(self.selected_)

    def at_size(self, size: int) -> Self:
        """Return a copy of this fitted estimator that uses the model of another size.

        Parameters
        ----------
        size : int
            One of ``path_.sizes``.
        """
        check_is_fitted(self)
        other = copy.copy(self)
        other._take(size)  # raises if there is none
        honest = getattr(self, "honest_", None)
        if honest is not None:
            other.honest_ = honest.at(self.path_, size)
        return other

    def export(
        self,
        to: str,
        path: str | PathLike[str] | None = None,
        *,
        size: int | None = None,
        dtype: str | None = None,
    ) -> str | bytes:
        """Return the model as a program that does not need sparsepath.

        Parameters
        ----------
        to : {"c", "javascript", "json", "onnx", "python", "sql", "sql-probability"}
            "c": a C99 file without allocation. "javascript": a function. "json": the formula as
            plain data. "onnx": a graph (needs the package onnx). "python": a module without
            dependencies. "sql": an expression for SQLite and DuckDB. "sql-probability": the same
            for the probability of the second class.
        path : path, optional
            File to write.
        size : int, optional
            One of the sizes on the path; default: the size in use.
        dtype : {"double", "float"}, optional
            Precision of an ONNX graph; default: "double".

        Returns
        -------
        str or bytes
            The program; bytes for ONNX.

        Examples
        --------
        >>> import numpy as np
        >>> from sparsepath import SparseRLSRegressor
        >>> X = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 2.0], [3.0, 5.0], [4.0, 4.0]])
        >>> line = SparseRLSRegressor(1, alpha=1.0, choose=1, validation=None).fit(X, X[:, 0])
        >>> print(line.export("sql"))
        CASE WHEN CAST("x0" AS VARCHAR) NOT IN ('', 'x0') THEN
        0.3...e0 + 0.8...e0 * "x0" END
        """
        check_is_fitted(self)
        return export(self, to, path, size=size, dtype=dtype)

    def save_model(self, path: str | PathLike[str]) -> None:
        """Write the models of all sizes to a JSON file. Loading it runs no code.

        ``sparsepath.load_model`` and ``sparsepath predict`` read it.

        Parameters
        ----------
        path : path
            File, such as "model.json". An existing file is replaced after the new one is complete.
        """
        check_is_fitted(self)
        SavedModel.of(self).save(path)

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return np.isin(np.arange(self.n_features_in_), self.selected_)


class SparseInputMixin(BaseEstimator):
    """Mixin of estimators that accept sparse matrices."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


@dataclass(eq=False, repr=False)
class SearchingSelector(PathSelector, CallbackSupportMixin, SparseInputMixin):
    """Base class of selectors with the parameters of a search."""

    _n_folds = 5
    _: KW_ONLY
    validation: Any = "auto"
    callback: Callback = None


@dataclass(eq=False, repr=False)
class SizedSelector(SearchingSelector):
    """Base class of selectors with ``max_features`` and a rule that chooses the size."""

    max_features: int | None = None
    _: KW_ONLY
    choose: str | int | float = "one_se"


def check_weights_taken(estimator: Any, given: Mapping[str, Any]) -> None:
    """Raise an error if a selector without sample weights receives them."""
    weighted = given.get("sample_weight") is not None and isinstance(estimator, PathSelector)
    if weighted and not has_fit_parameter(estimator, "sample_weight"):
        raise InputError(f"{type(estimator).__name__} does not support sample weights.")
