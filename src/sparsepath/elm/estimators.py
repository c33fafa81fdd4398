"""Extreme learning machines as scikit-learn estimators: plain, and optimally pruned."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sparsepath.data.blocks import Floats
from sparsepath.data.columns import standardise
from sparsepath.data.door import check_count, check_features, check_labels, check_target
from sparsepath.elm.network import (
    Fit,
    Indices,
    Machine,
    Neurons,
    Space,
    Target,
    draw_neurons,
)
from sparsepath.errors import InputError
from sparsepath.least_angle import lars_entries


def seed_of(random_state: Any) -> np.random.SeedSequence:
    """The seed that a scikit-learn ``random_state`` stands for."""
    return np.random.SeedSequence(int(check_random_state(random_state).randint(2**31 - 1)))


def check_ridge(value: Any) -> float:
    """The ridge, a finite number above zero."""
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not number or not 0 < value < np.inf:
        raise InputError(f"ridge={value!r}; give a finite number above zero, as 1e-6.")
    return float(value)


def check_classes(y: Any, n_samples: int) -> tuple[NDArray[Any], Indices, Floats]:
    """Class labels: the classes, the class of each sample, and targets -1 and +1.

    Two classes share one column of targets, more have one each.
    """
    labels = check_labels(y, n_samples)
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise InputError(f"y has only one class ({labels[0]!r}); a classifier needs at least two.")
    coded = np.where(codes[:, None] == np.arange(len(classes)), 1.0, -1.0)
    return classes, codes.astype(np.intp), coded[:, 1:] if len(classes) == 2 else coded


class _ELM(BaseEstimator):
    """What the machines share: parameters, neurons, the fit of the output layer."""

    def __init__(
        self,
        n_neurons: int = 100,
        *,
        activation: str = "tanh",
        ridge: float = 1e-6,
        random_state: Any = None,
    ) -> None:
        self.n_neurons = n_neurons
        self.activation = activation
        self.ridge = ridge
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _fit(self, X: Any, target: Target) -> Self:
        XT, centre, scale = standardise(X)
        n_neurons, ridge = check_count(self.n_neurons, "n_neurons"), check_ridge(self.ridge)
        random = np.random.default_rng(seed_of(self.random_state))
        neurons = draw_neurons(n_neurons, len(XT), self.activation, random)
        space = Space(n_neurons, target.n)
        neurons = self._chosen(neurons, XT, target, ridge, space)
        fit = Fit(neurons, XT, target, ridge, space)
        loo = fit.leave_one_out()
        self.loo_error_ = loo.criterion
        self.loo_error_se_ = loo.standard_error
        self._left_out = (target.Y.T - loo.residuals).T
        self._machine = Machine.of(fit, np.arange(len(XT)), centre, scale)
        return self

    def _chosen(
        self, neurons: Neurons, XT: Floats, target: Target, ridge: float, space: Space
    ) -> Neurons:
        """The neurons to use, out of those drawn."""
        return neurons

    def _scores(self, X: Any) -> Floats:
        check_is_fitted(self)
        return self._machine.predict(check_features(self, X, reset=False))


class ELMRegressor(RegressorMixin, _ELM):
    """Extreme learning machine: random hidden neurons, ridge regression on their outputs.

    Features are standardised; the hidden layer is drawn at random and kept; the output layer, with
    an intercept, is fitted in closed form, and its leave-one-out error is exact (PRESS), equal to
    that of refitting it without each sample in turn.

    Parameters
    ----------
    n_neurons : int, default=100
        Hidden neurons.
    activation : {"tanh", "gaussian"}, default="tanh"
        Their kind.
    ridge : float, default=1e-6
        The penalty is this times the number of samples times the squared output weights. It must be
        above zero: neurons that see few features are dependent to rounding.
    random_state : int, RandomState or None
        The seed of the neurons.

    Attributes
    ----------
    loo_error_, loo_error_se_ : float
        Mean squared leave-one-out error, summed over targets, and its standard error.
    loo_predictions_ : array of the shape of y
        What is predicted for each sample when it is left out.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> from sparsepath.data.synthetic import functional
    >>> problem = functional(500, 5, random_state=0)
    >>> model = ELMRegressor(random_state=0).fit(problem.X, problem.y)
    >>> bool(model.loo_error_ < 0.1 * problem.y.var())
    True
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags

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
        self._fit(X, Target(Y))
        self.loo_predictions_ = self._left_out[:, 0] if self._one_target else self._left_out
        return self

    def predict(self, X: Any) -> Floats:
        """Predicted targets, of the shape that y had."""
        scores = self._scores(X)
        return scores[:, 0] if self._one_target else scores


class ELMClassifier(ClassifierMixin, _ELM):
    """Extreme learning machine for classes: targets +1 and -1, one per class if more than two.

    Parameters
    ----------
    n_neurons, activation, ridge, random_state
        As for ``ELMRegressor``.

    Attributes
    ----------
    classes_ : array
        The class labels.
    loo_error_, loo_error_se_ : float
        Leave-one-out error rate and its standard error.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

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
        self.classes_, codes, Y = check_classes(y, X.shape[0])
        return self._fit(X, Target(Y, codes))

    def decision_function(self, X: Any) -> Floats:
        """Scores: one column per class, or for two classes one number, positive for the second."""
        scores = self._scores(X)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the largest score."""
        scores = self.decision_function(X)
        return self.classes_[winners(scores)]


def winners(scores: Floats) -> Indices:
    """The class with the largest score; of one column, 1 where it is positive."""
    return (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(1)


class _OPELM(_ELM):
    """What the pruned machines share: the ranking of the neurons and their number."""

    def _chosen(
        self, neurons: Neurons, XT: Floats, target: Target, ridge: float, space: Space
    ) -> Neurons:
        fit = Fit(neurons, XT, target, ridge, space)
        ranked = neurons.take(_lars_order(fit.H, target.rows))
        self.loo_errors_, squares = Fit(ranked, XT, target, ridge, space).prefixes()
        self.n_neurons_ = int(np.lexsort((squares, self.loo_errors_))[0]) + 1
        return ranked.take(slice(0, self.n_neurons_))


class OPELMRegressor(_OPELM, ELMRegressor):
    """Optimally pruned extreme learning machine (Miche et al. 2010).

    The neurons are ranked by least angle regression on their outputs, brought to equal variance;
    the number of them is that of the least leave-one-out error, which one factorisation gives for
    every number exactly. Ties go to the smaller number. With several targets each ranks the
    neurons, and the rankings are merged in turn: the first of each target, the second of each.

    Parameters
    ----------
    n_neurons : int, default=100
        Hidden neurons to choose from.
    activation, ridge, random_state
        As for ``ELMRegressor``.

    Attributes
    ----------
    n_neurons_ : int
        The number of neurons kept.
    loo_errors_ : array
        Mean squared leave-one-out error, summed over targets, with the first 1, 2, ... neurons of
        the ranking.
    loo_error_, loo_error_se_ : float
        That of the machine in use; it was selected, so it flatters a little.
    loo_predictions_ : array of the shape of y
        What is predicted for each sample when it is left out.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> from sparsepath.data.synthetic import xor_like
    >>> problem = xor_like(300, 3, random_state=0)
    >>> model = OPELMRegressor(random_state=0).fit(problem.X, problem.y)
    >>> model.n_neurons_ < 100, model.loo_error_ < 0.05
    (True, True)
    """


class OPELMClassifier(_OPELM, ELMClassifier):
    """Optimally pruned extreme learning machine for classes: targets +1 and -1.

    As ``OPELMRegressor`` with one target per class, one in all for two classes; the number of
    neurons is that of the least leave-one-out error rate, with the squared error to break ties.

    Parameters
    ----------
    n_neurons : int, default=100
        Hidden neurons to choose from.
    activation, ridge, random_state
        As for ``ELMRegressor``.

    Attributes
    ----------
    classes_ : array
        The class labels.
    n_neurons_ : int
        The number of neurons kept.
    loo_errors_ : array
        Leave-one-out error rate with the first 1, 2, ... neurons of the ranking.
    loo_error_, loo_error_se_ : float
        That of the machine in use; it was selected, so it flatters a little.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

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
