"""Networks grown by grafting, as scikit-learn estimators."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sparsepath.arrays import Axes, Floats, Vector
from sparsepath.data.threads import Threads
from sparsepath.errors import InputError
from sparsepath.faces.parameters import as_record, count, one_of
from sparsepath.grafting.design import GraftingDesign
from sparsepath.grafting.faces import GraftingClasses, GraftingNumbers, GraftingSelector
from sparsepath.grafting.growing import L0_PER, Grower, Grown, Growth, samples
from sparsepath.grafting.network import HiddenLayer, NetworkModel
from sparsepath.grafting.network_folds import spread
from sparsepath.grafting.procedure import STOPS
from sparsepath.running import Found, Run, fitting, opened
from sparsepath.steps import Step


@dataclass(eq=False, repr=False)
class GrownNetworks(GraftingSelector):
    """What all estimators that grow networks share: parameters, the model of a size, the picture.

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
        tols = list(self.tol) if isinstance(self.tol, Sequence) else [self.tol]
        if not tols or not all(0 < tol < 1 for tol in tols):
            raise InputError(f"tol={self.tol!r}; give a number between 0 and 1, or several.")
        return [as_record(Growth, self, tol=tol) for tol in tols]

    def _scaled(self, Y: Floats, s: Floats) -> Floats:
        return Y

    def _model(self, network: HiddenLayer, design: GraftingDesign) -> NetworkModel:
        used = network.used
        means, scales = design.means[used], design.scales[used]
        return NetworkModel(network, means, scales, self._y_scale, self._y_mean)

    def plot_network(self, ax: Axes | None = None) -> Axes:
        """Draw the network: which features feed which unit, and how strongly."""
        from sparsepath.grafting.network_plot import plot_network

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
        given, X = opened(self, X, y, sample_weight=sample_weight, groups=groups)
        whole = X
        Y, weights, loss = self._targets(y, sample_weight, X.shape[0])
        growths, penalty = self._growths(), self._penalty(self.l1, self.l0, Y.shape[1])
        counted = weights > 0
        if not counted.all():
            X, Y, weights = X[counted], Y[counted], weights[counted]
        s = weights / weights.sum()
        Y = self._scaled(Y, s)
        factor = loss.error_factor * self._y_scale**2
        runs: list[Grown] = []

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
        self, grown: Grown, design: GraftingDesign, error: str, factor: float, tol: float
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
    n_iter_ : int
        Steps of the growth.

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
    network_ : GrownNetwork or SoftmaxNetwork
        As for ``MLPGraftingRegressor``; with three classes and more also ``homes``, the class of
        each unit, further connections to outputs (``out_units``, ``out_classes``,
        ``out_weights``) and ``output_biases``.
    n_hidden_, path_, selected_, history_, criterion_, loss_, tol_
        As for ``MLPGraftingRegressor``.
    n_iter_ : int
        Steps of the growth.

    Examples
    --------
    >>> from sparsepath.data.synthetic import threshold_max
    >>> problem = threshold_max(300, 3, 0, 5, random_state=0)
    >>> model = MLPGraftingClassifier(l1=1e-6, validation=None).fit(problem.X, problem.y)
    >>> sorted(model.selected_.tolist())
    [0, 1, 2]
    """
