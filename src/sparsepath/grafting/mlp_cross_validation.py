"""Growing networks with l0 and l1, and so the number of features, chosen by cross-validation."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

from sparsepath.arrays import Floats
from sparsepath.grafting.faces import GraftingClasses, GraftingNumbers
from sparsepath.grafting.mlp_cv_base import MLPGraftingCV
from sparsepath.grafting.network_folds import spread


class MLPGraftingRegressorCV(GraftingNumbers, MLPGraftingCV):
    """Regression by a network that grows, with l0 and l1 chosen by cross-validation.

    On every training part one network grows for each l1; it holds those of all values of l0, and
    its error on the test part ends the growth when it has not fallen for ``patience`` steps. The
    l1 of the least mean error is taken; with it a network grows on all data, and ``choose`` picks
    the number of features among those that the values of l0 leave.

    Parameters
    ----------
    l1s : array, default=(0.001, 0.0001)
        The values of l1 to try.
    l0s : array, optional
        The values of l0 to try; more of them cost nothing.
    n_l0s, least : int, float, default=16, 0.0003
        Without ``l0s``: this many, from a tenth of the loss of the empty model down to this part.
    l2, feature_costs, l1_factors, l2_factors, l0_per, look_ahead
        As for ``MLPGraftingRegressor``.
    max_hidden, max_connections, max_features, standardize, max_iter
        As for ``MLPGraftingRegressor``.
    patience : int, default=5
        Steps without a lower error on the test part after which a growth ends.
    cv : int, splitter or list of splits, default=5
    choose
        As for ``SparseRLSRegressor``.
    tol : float, default=1e-5
        Gradient at which an optimisation ends.
    n_jobs : int, optional
        Splits that run at the same time; results do not depend on it.
    validation : "auto", int, splitter, list of splits or None, default="auto"
        How parts of the data are left out of the whole procedure for honest errors, by which the
        size is then chosen: a number of folds ("auto": five), a splitter of scikit-learn's, or
        rows. With None there are none, and the size is chosen by cross-validation alone; that
        takes a sixth of the time.
    callback : callable, optional
        Called with the path so far after every split and every step on all data; a true value
        ends the work, and what was found is kept.

    Attributes
    ----------
    path_ : SelectionPath
        For every size that the values of l0 leave the network of least cross-validation error.
    l1_, l0_ : float
        Of the network in use: ``MLPGraftingRegressor`` with them grows the same.
    l1s_, l0s_ : arrays
        All that were tried, from the largest down.
    cv_errors_ : array of shape (n_splits, n_l1s, n_l0s)
        Mean squared errors of the test parts.
    network_, n_hidden_, selected_, history_, criterion_, loss_
        Of the network in use, as for ``MLPGraftingRegressor``.
    models_, honest_
        As for ``SparseRLSRegressor``.
    n_iter_ : int
        Steps of the growth.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((150, 5))
    >>> y = X[:, 0] * X[:, 1] + X[:, 2]
    >>> model = MLPGraftingRegressorCV(l1s=[1e-3], cv=3, validation=None).fit(X, y)
    >>> sorted(model.selected_.tolist())
    [0, 1, 2]
    """

    loss = "squared"
    delta = 1.0
    _is_scaled = True

    def _scaled(self, Y: Floats, s: Floats) -> Floats:
        self._y_scale, self._y_mean = spread(Y, s)
        return (Y - self._y_mean) / self._y_scale


@dataclass(eq=False, repr=False)
class MLPGraftingClassifierCV(GraftingClasses, MLPGraftingCV):
    """Classification by a network that grows, with l0 and l1 chosen by cross-validation.

    Parameters
    ----------
    l1s, l0s, n_l0s, least, l2, feature_costs, l1_factors, l2_factors, l0_per, look_ahead
        As for ``MLPGraftingRegressorCV``.
    max_hidden, max_connections, max_features, patience, cv, choose, standardize, tol, max_iter
        As for ``MLPGraftingRegressorCV``.
    n_jobs, validation, callback
        As for ``MLPGraftingRegressorCV``.
    class_weight : dict, "balanced" or None
        As for ``GraftingClassifier``.
    error : {"loss", "zero_one"}, default="loss"
        What the test parts measure: the mean log loss, or the error rate.

    Attributes
    ----------
    classes_ : array
        The class labels.
    path_, l1_, l0_, l1s_, l0s_, cv_errors_
        As for ``MLPGraftingRegressorCV``.
    network_, n_hidden_, selected_, history_, criterion_, loss_
        Of the network in use, as for ``MLPGraftingClassifier``.
    models_, honest_
        As for ``SparseRLSRegressor``.
    n_iter_ : int
        Steps of the growth.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).integers(0, 2, (150, 5))
    >>> y = X[:, 0] ^ X[:, 1]
    >>> model = MLPGraftingClassifierCV(l1s=[1e-3], cv=3, validation=None).fit(X, y)
    >>> sorted(model.selected_.tolist())
    [0, 1]
    """

    _: KW_ONLY
    class_weight: Any = None
    error: str = "loss"
