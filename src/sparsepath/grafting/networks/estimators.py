"""Networks grown by grafting, as scikit-learn estimators."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sparsepath.base import Found, Run, fitting, open_fit
from sparsepath.base.parameters import as_record, count, flag, one_of, share
from sparsepath.errors import InputError
from sparsepath.grafting.base import GraftingClasses, GraftingNumbers, GraftingSelector
from sparsepath.grafting.design import GraftingDesign
from sparsepath.grafting.networks.folds import spread
from sparsepath.grafting.networks.growing import L0_PER, Grower, Growth, GrowthResult, samples
from sparsepath.grafting.networks.network import HiddenLayer, NetworkModel
from sparsepath.grafting.procedure import STOPS
from sparsepath.path.steps import Step
from sparsepath.system.arrays import Axes, Floats, Vector
from sparsepath.system.threads import Threads


@dataclass(eq=False, repr=False)
class GrownNetworks(GraftingSelector):
    """Base class of network estimators: parameters, the model of a size, the plot.

    Those that are of one kind have ``l2``, ``selection``, ``stop``, ``tol`` and ``max_iter`` too.
    """

    _y_mean, _y_scale = 0.0, 1.0  # of a target that is scaled inside
    _: KW_ONLY
    l0_per: str = "connection"
    look_ahead: int = 5
    max_hidden: int | None = 50
    max_connections: int | None = 200

    def _growths(self) -> list[Growth]:
        one_of("l0_per", self.l0_per, L0_PER)
        one_of("selection", self.selection, ("gradient", "bound"))
        one_of("stop", self.stop, STOPS)
        for name in ("max_hidden", "max_connections", "max_features", "max_iter"):
            if getattr(self, name) is not None or name == "max_iter":
                count(name, getattr(self, name))
        count("look_ahead", self.look_ahead)
        flag("standardize", self.standardize)
        several = isinstance(self.tol, Sequence) and not isinstance(self.tol, str)
        tols = list(self.tol) if several else [self.tol]
        if not tols:
            raise InputError(f"tol={self.tol!r}; give a number between 0 and 1, or several.")
        return [as_record(Growth, self, tol=share("tol", tol)) for tol in tols]

    def _scaled(self, Y: Floats, s: Floats) -> Floats:
        return Y

    def _model(self, network: HiddenLayer, design: GraftingDesign) -> NetworkModel:
        used = network.used
        means, scales = design.means[used], design.scales[used]
        return NetworkModel(network, means, scales, self._y_scale, self._y_mean)

    def plot_network(self, ax: Axes | None = None) -> Axes:
        """Draw the network: which features feed which unit, and how strongly.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on.
        """
        from sparsepath.grafting.networks.plots import plot_network

        check_is_fitted(self)
        classes = [str(label) for label in getattr(self, "classes_", ())]
        return plot_network(
            self.network_,
            self.path_.feature_names,
            classes=classes if len(classes) > 2 else (),
            ax=ax,
        )


class ScaledNumbers(GraftingNumbers):
    """Targets in the units in which a hidden unit adds between -1 and +1."""

    _is_scaled = True

    def _scaled(self, Y: Floats, s: Floats) -> Floats:
        self._y_scale, self._y_mean = spread(Y, s)
        return (Y - self._y_mean) / self._y_scale


def of_network(network: HiddenLayer, criterion: float, loss: float) -> dict[str, Any]:
    """Fitted attributes of the network of a size."""
    known = {"network_": network, "n_hidden_": network.n_hidden}
    return {**known, "criterion_": criterion, "loss_": loss}


@dataclass(eq=False, repr=False)
class MLPGrafting(GrownNetworks, Growth):
    """One network for given penalties; the regressor and the classifier say of what kind."""

    l1: float = 0.001
    l2: float = 0.0
    l0: float = 0.005
    _: KW_ONLY
    tol: float | Sequence[float] = 1e-7  # type: ignore[assignment]
    n_threads: int | None = None

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Vector = None, groups: Vector = None) -> Self:
        """Grow the network."""
        given, X = open_fit(self, X, y, sample_weight=sample_weight, groups=groups)
        whole = X
        Y, weights, loss = self._targets(y, sample_weight, X.shape[0])
        growths, penalty = self._growths(), self._penalty(self.l1, self.l0, Y.shape[1])
        counted = weights > 0
        if not counted.all():
            X, Y, weights = X[counted], Y[counted], weights[counted]
        s = weights / weights.sum()
        Y = self._scaled(Y, s)
        factor = loss.error_factor * self._y_scale**2
        runs: list[GrowthResult] = []

        def found() -> Found | None:
            if not runs:
                return None
            best = int(np.argmin([grown.criterion for grown in runs]))
            grown, tol = runs[best], growths[best].tol
            return self._found(grown, design, loss.error_name, factor, tol)

        with Threads(self.n_threads) as threads:
            design = GraftingDesign(X, s, threads, standardize=self.standardize)
            with Run(self, given, whole, method="mlp-grafting", found=found) as run:
                for growth in growths:
                    grower = Grower(design, Y, loss, penalty, growth, samples(weights))
                    runs.append(grower.grown)
                    while grower.step() and not run.tell():
                        pass
                    if run.stopped:
                        break
        return run.settle()

    def _found(
        self, grown: GrowthResult, design: GraftingDesign, error: str, factor: float, tol: float
    ) -> Found:
        """The path of a network that has grown, its errors a factor times its losses."""
        networks = dict(grown.networks)
        return Found(
            [
                Step(order, error=factor * loss, train_error=factor * loss)
                for order, _, _, loss in networks.values()
            ],
            [replace(move, error=factor * move.error) for move in grown.moves],
            criterion=error,
            error_kind="training",
            fitted={
                "history_": list(grown.history),
                "n_iter_": max(1, len(grown.history)),
                "tol_": tol,
                "_of_size": {k: of_network(*each[1:]) for k, each in networks.items()},
            },
            models={size: self._model(net, design) for size, (_, net, *_) in networks.items()},
            size=min(networks, key=lambda size: networks[size][2]),
            stopped=grown.stopped,
        )


@dataclass(eq=False, repr=False)
class MLPGraftingRegressor(ScaledNumbers, MLPGrafting):
    """Regression by a network that grows connection by connection, with L0, L1 and L2 penalties.

    The target is standardised internally, because every hidden unit contributes between -1 and +1;
    the penalties and ``criterion_`` are in those units.

    Parameters
    ----------
    l1, l2, l0 : float, default=0.001, 0, 0.005
        Penalties of the connections from features to units; biases are not penalised.
    feature_costs, l1_factors, l2_factors : array or mapping of names to numbers, optional
        Factors of the penalties L0, L1 and L2 per feature.
    l0_per : {"connection", "feature"}, default="connection"
        What L0 counts. With "feature", as in equation (6) of the paper, further connections of a
        selected feature are free, and growth may continue up to a limit.
    look_ahead : int, default=5
        Largest number of inputs that are tested jointly, to detect interactions; more than three
        only while no smaller set helps. Orders that would take too long for the number of features
        and samples are skipped. 1: the gradient test of the paper only.
    max_hidden, max_connections, max_features : int or None, default=50, 200, None
        Limits of the growth.
    selection : {"gradient", "bound"}, default="gradient"
        How the next connection is chosen: by the largest gradient, or by the bound (9).
    stop : {"first", "exhaust"}, default="first"
        What to do when a connection would increase the criterion: stop, or try all others first.
    standardize : bool, default=True
        Whether to standardise the features internally.
    tol : float or list of float, default=1e-7
        Gradient norm at which an optimisation stops. With several values, the network with the
        lowest criterion is kept. A loose tolerance (1e-3) loses units and features; values below
        1e-7 bring no improvement.
    max_iter : int, default=500
        Maximum number of iterations of each optimisation.
    n_threads : int, optional
        Number of threads; None: one per core. Affects speed only.
    validation : "auto", int, splitter, list of splits or None, default="auto"
        Outer cross-validation for the honest errors: a number of folds ("auto": five), a
        scikit-learn splitter, or a list of splits. None: no honest errors.
    callback : callable, optional
        Called with the path so far after every accepted connection; a true return value stops the
        growth and keeps the network so far (``path_.stopped`` is then "asked to").

    Attributes
    ----------
    network_ : GrownNetwork
        Connections (``units``, ``features``, ``weights``), ``biases``, ``output_bias``; weights
        are those of the standardised features.
    n_hidden_ : int
        Number of hidden units.
    path_ : SelectionPath
        Best network for every number of features that was visited, by the criterion. Its errors
        are mean squared errors on the training data, in squared units of the target.
    selected_ : array of int
        Selected columns, in order of entry.
    history_ : list of NetworkGraft
        Every step of the growth.
    criterion_, loss_ : float
        Criterion including L0, and its loss term (half the squared error, standardised target).
    tol_ : float
        Tolerance of the network in use.
    n_iter_ : int
        Number of growth steps.
    models_ : dict of size to Predictor
        Model of every size on the path: small, immutable, JSON by ``to_dict``. Empty if the
        selector does not predict.
    honest_ : Honest or None
        Size in use and its honest error (nested cross-validation); None if ``validation`` is None.
    n_features_in_, feature_names_in_ : int, array of str
        Number of columns seen by ``fit``, and their names if X had any.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((400, 10))
    >>> y = X[:, 0] * X[:, 1] + X[:, 2]
    >>> model = MLPGraftingRegressor(validation=None).fit(X, y)
    >>> sorted(model.selected_.tolist())
    [0, 1, 2]

    Without look-ahead the product is invisible, because neither factor has an effect alone:

    >>> model = MLPGraftingRegressor(look_ahead=1, validation=None).fit(X, y)
    >>> sorted(model.selected_.tolist())
    [2]
    """


@dataclass(eq=False, repr=False)
class MLPGraftingClassifier(GraftingClasses, MLPGrafting):
    """Classification by a network that grows connection by connection.

    Two classes have one output and the logistic loss; three and more have one output each and the
    multinomial loss. Every unit is then created for one class, whose output it feeds with weight
    1; connections to the outputs of other classes are candidates like those from features.

    Parameters
    ----------
    l1 : float, default=0.001
        Penalties of the connections from features to units; biases are not penalised.
    l2 : float, default=0.0
        Penalties of the connections from features to units; biases are not penalised.
    l0 : float, default=0.005
        Penalties of the connections from features to units; biases are not penalised.
    feature_costs, l1_factors, l2_factors : array or mapping of names to numbers, optional
        Factors of the penalties L0, L1 and L2 per feature.
    l0_per : {"connection", "feature"}, default="connection"
        What L0 counts. With "feature", as in equation (6) of the paper, further connections of a
        selected feature are free, and growth may continue up to a limit.
    look_ahead : int, default=5
        Largest number of inputs that are tested jointly, to detect interactions; more than three
        only while no smaller set helps. Orders that would take too long for the number of features
        and samples are skipped. 1: the gradient test of the paper only.
    max_hidden : int or None, default=50
        Maximum number of hidden units.
    max_connections : int or None, default=200
        Maximum number of connections.
    max_features : int or None, default=None
        Maximum number of features.
    selection : {"gradient", "bound"}, default="gradient"
        How the next connection is chosen: by the largest gradient, or by the bound (9).
    stop : {"first", "exhaust"}, default="first"
        What to do when a connection would increase the criterion: stop, or try all others first.
    standardize : bool, default=True
        Whether to standardise the features internally.
    tol : float or list of float, default=1e-07
        Gradient norm at which an optimisation stops. With several values, the network with the
        lowest criterion is kept. A loose tolerance (1e-3) loses units and features; values below
        1e-7 bring no improvement.
    max_iter : int, default=500
        Maximum number of iterations of each optimisation.
    n_threads : int, optional
        Number of threads; None: one per core. Affects speed only.
    validation : "auto", int, splitter, list of splits or None, default="auto"
        Outer cross-validation for the honest errors: a number of folds ("auto": five), a
        scikit-learn splitter, or a list of splits. None: no honest errors.
    callback : callable, optional
        Called with the path so far after every accepted connection; a true return value stops the
        growth and keeps the network so far (``path_.stopped`` is then "asked to").
    class_weight : dict, "balanced" or None
        Factors of the sample weights, as in scikit-learn.

    threshold : "balanced", "f1", float, array of shape (2, 2) or None, default=None
        Score above which the second of the two classes is predicted, chosen on the samples that
        validation leaves out: least balanced error, largest F1, or least cost, where
        ``threshold[i][j]`` is the cost of predicting class j for a sample of class i. A float: the
        probability of the second class above which it is predicted. None: score zero.

    Attributes
    ----------
    network_ : GrownNetwork or SoftmaxNetwork
        Connections (``units``, ``features``, ``weights``), ``biases``, ``output_bias``; weights are
        those of the standardised features. With three classes and more also ``homes``, the class of
        each unit, further connections to outputs (``out_units``, ``out_classes``, ``out_weights``)
        and ``output_biases``.
    n_hidden_ : int
        Number of hidden units.
    path_ : SelectionPath
        Best network for every number of features that was visited, by the criterion. Its errors
        are mean squared errors on the training data, in squared units of the target.
    selected_ : array of int
        Selected columns, in order of entry.
    history_ : list of NetworkGraft
        Every step of the growth.
    criterion_, loss_ : float
        Criterion including L0, and its loss term (half the squared error, standardised target).
    tol_ : float
        Tolerance of the network in use.
    n_iter_ : int
        Number of growth steps.
    classes_ : array
        Class labels.
    models_ : dict of size to Predictor
        Model of every size on the path: small, immutable, JSON by ``to_dict``. Empty if the
        selector does not predict.
    honest_ : Honest or None
        Size in use and its honest error (nested cross-validation); None if ``validation`` is None.
    n_features_in_, feature_names_in_ : int, array of str
        Number of columns seen by ``fit``, and their names if X had any.

    Examples
    --------
    >>> from sparsepath.data.synthetic import threshold_max
    >>> problem = threshold_max(300, 3, 0, 5, random_state=0)
    >>> model = MLPGraftingClassifier(l1=1e-6, validation=None).fit(problem.X, problem.y)
    >>> sorted(model.selected_.tolist())
    [0, 1, 2]
    """
