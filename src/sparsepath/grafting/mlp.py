"""Networks grown by grafting, as scikit-learn estimators."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from sparsepath.arrays import Floats
from sparsepath.grafting.faces import GraftingClasses, GraftingNumbers
from sparsepath.grafting.mlp_base import MLPGrafting


class MLPGraftingRegressor(GraftingNumbers, MLPGrafting):
    """Regression by a network that grows connection by connection, with L0, L1 and L2 penalties.

    The target is brought to mean 0 and standard deviation 1 inside, since every hidden unit adds
    between -1 and +1; the criterion, its lambdas and ``criterion_`` are in those units.

    Parameters
    ----------
    l1, l2, l0 : float, default=0.001, 0, 0.005
        The lambdas of all connections from features to units; biases are not penalised.
    feature_costs, l1_factors, l2_factors : array or mapping of names to numbers, optional
        Their factors per feature.
    l0_per : {"connection", "feature"}, default="connection"
        What L0 counts. Per feature, as equation (6) of the paper, further connections of a
        feature in use are free, and growth may go on until a cap ends it.
    look_ahead : int, default=5
        The most inputs that are judged together, so that what only several of them explain is
        seen. Sets of an order that would take too long for the number of features and samples are
        left out. With 1 there is the gradient test of the paper alone.
    max_hidden, max_connections, max_features : int or None, default=50, 200, None
        Caps on the growth.
    selection : {"gradient", "bound"}, default="gradient"
        What chooses the next connection: the largest gradient, or the estimate (9).
    stop : {"first", "exhaust"}, default="first"
        What to do when a connection would raise the criterion.
    standardize : bool, default=True
        Scale the features inside.
    tol : float or list of float, default=1e-7
        Gradient at which an optimisation ends. Of several, the network of least criterion is
        kept. A loose tolerance (1e-3) loses units and features; tighter than 1e-7 gains nothing.
    max_iter : int, default=500
        Iterations of each optimisation.
    n_threads : int, optional
        Threads; None: one per core. It changes the speed only.
    validation : "auto", int, splitter, list of splits or None, default="auto"
        How parts of the data are left out of the whole procedure for honest errors: a number of
        folds ("auto": five), a splitter of scikit-learn's, or rows. With None there are none.
    callback : callable, optional
        Called with the path so far after every connection that is kept; a true value ends the
        growth, and what has grown is kept (``path_.stopped`` is then "asked to").

    Attributes
    ----------
    network_ : GrownNetwork
        Connections (``units``, ``features``, ``weights``), ``biases``, ``output_bias``; weights
        are those of the standardised features.
    n_hidden_ : int
    path_ : SelectionPath
        The best network per number of features on the way, by the criterion. Its errors are mean
        squared errors on the training data, in the squared units of the target.
    selected_ : array of int
        The columns in use, in order of entry.
    history_ : list of NetworkGraft
    criterion_, loss_ : float
        The criterion, L0 included, and its loss term (half squares of the standardised target).
    tol_ : float
        The tolerance of the network that was kept.
    models_, honest_
        As for ``SparseRLSRegressor``.
    n_iter_ : int
        Steps of the growth.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((400, 10))
    >>> y = X[:, 0] * X[:, 1] + X[:, 2]
    >>> model = MLPGraftingRegressor(validation=None).fit(X, y)
    >>> sorted(model.selected_.tolist())
    [0, 1, 2]

    Without looking ahead the product is not seen, since neither of its factors has a slope:

    >>> model = MLPGraftingRegressor(look_ahead=1, validation=None).fit(X, y)
    >>> sorted(model.selected_.tolist())
    [2]
    """

    loss = "squared"
    delta = 1.0

    def _scaled(self, Y: Floats, s: Floats) -> Floats:
        self._y_mean = float(s @ Y[:, 0])
        self._y_scale = float(np.sqrt(s @ (Y[:, 0] - self._y_mean) ** 2))
        return (Y - self._y_mean) / self._y_scale


@dataclass(eq=False, repr=False)
class MLPGraftingClassifier(GraftingClasses, MLPGrafting):
    """Classification by a network that grows connection by connection.

    Two classes have one output and the logistic loss; three and more have one output each and the
    multinomial loss. Then every unit is born for one class, whose output it feeds with weight 1,
    and connections to the outputs of other classes are candidates like those from features.

    Parameters
    ----------
    l1, l2, l0, feature_costs, l1_factors, l2_factors, l0_per, look_ahead
        As for ``MLPGraftingRegressor``.
    max_hidden, max_connections, max_features, selection, stop, standardize, tol, max_iter
        As for ``MLPGraftingRegressor``.
    n_threads, validation, callback
        As for ``MLPGraftingRegressor``.
    class_weight : dict, "balanced" or None
        As for ``GraftingClassifier``.

    Attributes
    ----------
    classes_ : array
        The class labels.
    network_ : GrownNetwork or SoftmaxNetwork
        As for ``MLPGraftingRegressor``; with three classes and more also ``homes``, the class of
        each unit, further connections to outputs (``out_units``, ``out_classes``,
        ``out_weights``) and ``output_biases``.
    n_hidden_, path_, selected_, history_, criterion_, loss_, tol_
        As for ``MLPGraftingRegressor``.
    models_, honest_
        As for ``SparseRLSRegressor``.
    n_iter_ : int
        Steps of the growth.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> from sparsepath.data.synthetic import threshold_max
    >>> problem = threshold_max(300, 3, 0, 5, random_state=0)
    >>> model = MLPGraftingClassifier(l1=1e-6, validation=None).fit(problem.X, problem.y)
    >>> sorted(model.selected_.tolist())
    [0, 1, 2]
    """

    _: KW_ONLY
    class_weight: Any = None
