"""Extreme learning machines as scikit-learn estimators: plain, and optimally pruned."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from sparsepath.base.least_angle import lars_entries
from sparsepath.base.parameters import count, flag, number, positive
from sparsepath.base.parameters import random_state as checked_random_state
from sparsepath.base.selector import SparseInputMixin
from sparsepath.base.targets import PathClassifierMixin, PathRegressorMixin, dense
from sparsepath.data.classes import encode_targets
from sparsepath.data.columns import standardise
from sparsepath.data.validation import check_features, check_target, refuse_extremes
from sparsepath.elm.network import Fit, Indices, Machine, Neurons, Target, draw_neurons
from sparsepath.system.arrays import Floats


def seeds_of(random_state: Any) -> np.random.SeedSequence:
    """Return the integer seed of a scikit-learn ``random_state``."""
    return np.random.SeedSequence(int(checked_random_state(random_state).randint(2**31 - 1)))


@dataclass(eq=False, repr=False)
class _ELM(SparseInputMixin):
    """Base class of the machines: parameters, neurons, output layer."""

    n_neurons: int = 100
    _: KW_ONLY
    activation: str = "tanh"
    ridge: float = 1e-6
    random_state: Any = None
    standardize: bool = True

    def _fit(self, X: Any, target: Target) -> Self:
        if flag("standardize", self.standardize):
            XT, centre, scale = standardise(X)
        else:
            XT = np.array(dense(X).T, dtype=np.float64, order="C")
            centre, scale = np.zeros(len(XT)), np.ones(len(XT))
        n_neurons, ridge = count("n_neurons", self.n_neurons), positive("ridge", self.ridge)
        random = np.random.default_rng(seeds_of(self.random_state))
        neurons = draw_neurons(n_neurons, len(XT), self.activation, random)
        neurons = self._chosen(neurons, XT, target, ridge)
        fit = Fit(neurons, XT, target, ridge)
        loo = fit.leave_one_out()
        self.loo_error_ = loo.criterion
        self.loo_error_se_ = loo.standard_error
        self._left_out = (target.Y.T - loo.residuals).T
        self._machine = Machine.of(fit, np.arange(len(XT)), centre, scale)
        return self

    def _chosen(self, neurons: Neurons, XT: Floats, target: Target, ridge: float) -> Neurons:
        """Return the neurons to use."""
        return neurons

    def _scores(self, X: Any) -> Floats:
        check_is_fitted(self)
        return self._machine.predict(check_features(self, X, reset=False))


@dataclass(eq=False, repr=False)
class ELMRegressor(PathRegressorMixin, _ELM):
    """Extreme learning machine: random hidden neurons, ridge regression on their outputs.

    The hidden layer is random and fixed, and the output layer with an intercept is fitted in closed
    form. The leave-one-out error is exact (PRESS): equal to that of refitting the output layer
    without each sample.

    Parameters
    ----------
    n_neurons : int, default=100
        Number of hidden neurons.
    activation : {"tanh", "gaussian"}, default="tanh"
        Activation function.
    ridge : float, default=1e-6
        Penalty: this times the number of samples times the squared output weights. It must be
        positive, because neurons of few features are numerically dependent.
    random_state : int, RandomState or None
        Random seed of the neurons.
    standardize : bool, default=True
        Scale features to zero mean and unit variance first.
    reach : float, default=0.5
        Predictions are clipped to the range of the training target, extended by this fraction of
        it on either side; so are those of the leave-one-out error. Infinity: no clipping.

    Attributes
    ----------
    loo_error_, loo_error_se_ : float
        Mean squared leave-one-out error, summed over targets, and its standard error.
    loo_predictions_ : array of the shape of y
        Leave-one-out prediction for each sample.
    n_features_in_, feature_names_in_ : int, array of str
        Number of columns seen by ``fit``, and their names if X had any.

    Examples
    --------
    >>> from sparsepath.data.synthetic import functional
    >>> problem = functional(500, 5, random_state=0)
    >>> model = ELMRegressor(random_state=0).fit(problem.X, problem.y)
    >>> bool(model.loo_error_ < 0.1 * problem.y.var())
    True
    """

    _: KW_ONLY
    reach: float = 0.5
    _several = True

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Draw the neurons and fit the output layer.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The features.
        y : array of shape (n_samples,) or (n_samples, n_targets)
            The target.
        """
        X = check_features(self, X, reset=True)
        Y, self._one_target = check_target(y, X.shape[0])
        refuse_extremes(Y)
        self._fit(X, Target(Y, reach=number("reach", self.reach, finite=False)))
        self.loo_predictions_ = self._shaped(self._left_out)
        return self


@dataclass(eq=False, repr=False)
class ELMClassifier(PathClassifierMixin, _ELM):
    """Extreme learning machine for classification, with targets +1 and -1.

    Parameters
    ----------
    n_neurons : int, default=100
        Number of hidden neurons.
    activation : {"tanh", "gaussian"}, default="tanh"
        Activation function.
    ridge : float, default=1e-06
        Penalty: this times the number of samples times the squared output weights. It must be
        positive, because neurons of few features are numerically dependent.
    random_state : int, RandomState or None
        Random seed of the neurons.
    standardize : bool, default=True
        Scale features to zero mean and unit variance first.

    Attributes
    ----------
    loo_error_, loo_error_se_ : float
        Leave-one-out error rate and its standard error.
    n_features_in_, feature_names_in_ : int, array of str
        Number of columns seen by ``fit``, and their names if X had any.
    classes_ : array
        Class labels.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> ELMClassifier(30, random_state=0).fit(X, y).loo_error_ < 0.06
    True
    """

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Draw the neurons and fit the output layer.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The features.
        y : array of shape (n_samples,)
            Class labels of any kind.
        """
        X = check_features(self, X, reset=True)
        codes = self._codes(y, X.shape[0])
        return self._fit(X, Target(encode_targets(codes, len(self.classes_)), codes))


class _OPELM(_ELM):
    """Base class of pruned machines: ranking of neurons and their number."""

    def _chosen(self, neurons: Neurons, XT: Floats, target: Target, ridge: float) -> Neurons:
        fit = Fit(neurons, XT, target, ridge)
        ranked = neurons.take(_lars_order(fit.H, target.rows))
        self.loo_errors_, squares = Fit(ranked, XT, target, ridge).prefixes()
        self.n_neurons_ = int(np.lexsort((squares, self.loo_errors_))[0]) + 1
        return ranked.take(slice(0, self.n_neurons_))


@dataclass(eq=False, repr=False)
class OPELMRegressor(_OPELM, ELMRegressor):
    """Optimally pruned extreme learning machine (Miche et al. 2010).

    The neurons are ranked by least angle regression on their outputs, scaled to equal variance.
    Their number is the one with the lowest leave-one-out error, which one factorisation gives
    exactly for every number; the smaller number wins ties. With several targets, each target ranks
    the neurons, and the rankings are merged: first the first of each target, then the second of
    each, and so on.

    Parameters
    ----------
    n_neurons : int, default=100
        Number of hidden neurons before pruning.
    activation : {"tanh", "gaussian"}, default="tanh"
        Activation function.
    ridge : float, default=1e-06
        Penalty: this times the number of samples times the squared output weights. It must be
        positive, because neurons of few features are numerically dependent.
    random_state : int, RandomState or None
        Random seed of the neurons.
    standardize : bool, default=True
        Scale features to zero mean and unit variance first.
    reach : float, default=0.5
        Predictions are clipped to the range of the training target, extended by this fraction of
        it on either side; so are those of the leave-one-out error. Infinity: no clipping.

    Attributes
    ----------
    n_neurons_ : int
        The number of neurons kept.
    loo_errors_ : array
        Mean squared leave-one-out error, summed over targets, with the first 1, 2, ... neurons of
        the ranking, computed without clipping, so that the choice does not depend on it.
    loo_error_, loo_error_se_ : float
        Error of the network in use and its standard error; slightly optimistic, because it was
        selected.
    loo_predictions_ : array of the shape of y
        Leave-one-out prediction for each sample.
    n_features_in_, feature_names_in_ : int, array of str
        Number of columns seen by ``fit``, and their names if X had any.

    Examples
    --------
    >>> from sparsepath.data.synthetic import xor_like
    >>> problem = xor_like(300, 3, random_state=0)
    >>> model = OPELMRegressor(random_state=0).fit(problem.X, problem.y)
    >>> model.n_neurons_ < 100, model.loo_error_ < 0.05
    (True, True)
    """


@dataclass(eq=False, repr=False)
class OPELMClassifier(_OPELM, ELMClassifier):
    """Optimally pruned extreme learning machine for classification.

    Like ``OPELMRegressor``, with one target per class (a single one for two classes). The number of
    neurons is the one with the lowest leave-one-out error rate; the squared error breaks ties.

    Parameters
    ----------
    n_neurons : int, default=100
        Number of hidden neurons before pruning.
    activation : {"tanh", "gaussian"}, default="tanh"
        Activation function.
    ridge : float, default=1e-06
        Penalty: this times the number of samples times the squared output weights. It must be
        positive, because neurons of few features are numerically dependent.
    random_state : int, RandomState or None
        Random seed of the neurons.
    standardize : bool, default=True
        Scale features to zero mean and unit variance first.

    Attributes
    ----------
    n_neurons_ : int
        The number of neurons kept.
    loo_errors_ : array
        Leave-one-out error rate with the first 1, 2, ... neurons of the ranking.
    loo_error_, loo_error_se_ : float
        Error of the network in use and its standard error; slightly optimistic, because it was
        selected.
    n_features_in_, feature_names_in_ : int, array of str
        Number of columns seen by ``fit``, and their names if X had any.
    classes_ : array
        Class labels.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = OPELMClassifier(50, random_state=0).fit(X, y)
    >>> model.n_neurons_ < 50, model.loo_error_ < 0.05
    (True, True)
    """


def _lars_order(H: Floats, rows: Floats) -> Indices:
    """Rows of H as least angle regression on each target takes them, in turn; others left out."""
    norms = np.sqrt(np.einsum("ji,ji->j", H, H))
    live = np.flatnonzero(norms > 1e-12 * np.sqrt(H.shape[1]))
    if not len(live) or not rows.any():
        return np.arange(1)
    columns = (H[live] / norms[live, None]).T
    orders = [lars_entries(columns, y, len(live)).tolist() for y in rows]
    merged = [order[k] for k in range(len(live)) for order in orders if k < len(order)]
    return live[list(dict.fromkeys(merged)) or [0]]
