"""What the estimators of growing networks share: parameters, growth, the network."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from sparsepath.arrays import Axes, Floats
from sparsepath.data.door import check_features
from sparsepath.data.threads import Threads
from sparsepath.errors import InputError
from sparsepath.faces.parameters import count, one_of
from sparsepath.grafting.criterion import Penalty
from sparsepath.grafting.design import GraftingDesign
from sparsepath.grafting.faces import Factors
from sparsepath.grafting.fitting import check_factors, check_penalties
from sparsepath.grafting.growing import L0_PER, Grown, Growth, grow, samples
from sparsepath.grafting.network import HiddenLayer, NetworkModel
from sparsepath.grafting.procedure import STOPS
from sparsepath.running import Callback, CallbackSupportMixin, Found, Given, Run, fitting
from sparsepath.selector import PathSelector
from sparsepath.steps import Step


class GrownNetworks(PathSelector, CallbackSupportMixin, BaseEstimator):
    """What all estimators that grow networks share: checks, the model of a size, the picture."""

    _n_folds = 5
    _takes_sparse = True
    _y_mean, _y_scale = 0.0, 1.0  # of a target that is scaled inside
    l2: float
    feature_costs: Factors
    l1_factors: Factors
    l2_factors: Factors
    l0_per: str
    look_ahead: int
    max_hidden: int | None
    max_connections: int | None
    max_features: int | None
    selection: str
    stop: str
    tol: float | Sequence[float]
    max_iter: int
    network_: HiddenLayer
    _of_size: dict[int, dict[str, Any]]  # fitted attributes of every size

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
        return [
            Growth(
                self.l0_per,
                self.selection,
                self.stop,
                self.max_hidden,
                self.max_connections,
                self.max_features,
                int(self.look_ahead),
                tol,
                self.max_iter,
            )
            for tol in tols
        ]

    def _penalty(self, n_outputs: int, l1: float, l0: float) -> Penalty:
        """Of the features, and with several outputs of the connections to them, with factor 1."""
        check_penalties(l1=l1, l2=self.l2, l0=l0)
        n, names = self.n_features_in_, getattr(self, "feature_names_in_", None)
        more = n_outputs if n_outputs > 1 else 0

        def factors(name: str) -> Floats:
            given = check_factors(getattr(self, name), names, n, name)
            return np.append(np.ones(n) if given is None else given, np.ones(more))

        return Penalty.of(
            n + more,
            l1,
            self.l2,
            l0,
            l1_factors=factors("l1_factors"),
            l2_factors=factors("l2_factors"),
            costs=factors("feature_costs"),
        )

    def _scaled(self, Y: Floats, s: Floats) -> Floats:
        return Y

    def _model(self, network: HiddenLayer, design: GraftingDesign) -> NetworkModel:
        used = network.used
        means, scales = design.means[used], design.scales[used]
        return NetworkModel(network, means, scales, self._y_scale, self._y_mean)

    def _take(self, size: int) -> None:
        super()._take(size)
        _, self.network_, self.criterion_, self.loss_ = self._networks[size]
        self.n_hidden_ = self.network_.n_hidden

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


@dataclass(eq=False, repr=False)
class MLPGrafting(GrownNetworks):
    """One network for given penalties; the regressor and the classifier say of what kind."""

    l1: float = 0.001
    l2: float = 0.0
    l0: float = 0.005
    _: KW_ONLY
    feature_costs: Factors = None
    l1_factors: Factors = None
    l2_factors: Factors = None
    l0_per: str = "connection"
    look_ahead: int = 5
    max_hidden: int | None = 50
    max_connections: int | None = 200
    max_features: int | None = None
    selection: str = "gradient"
    stop: str = "first"
    standardize: bool = True
    tol: float | Sequence[float] = 1e-7
    max_iter: int = 500
    n_threads: int | None = None
    validation: Any = "auto"
    callback: Callback = None

    @fitting
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Grow the network.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The features.
        y : array of shape (n_samples,)
            The target: numbers, or class labels of any kind.
        sample_weight : array of shape (n_samples,), optional
            The loss term becomes the weighted mean.
        groups : array of shape (n_samples,), optional
            Samples that belong together: the validation leaves them out together.
        """
        given = Given.of(X, y, sample_weight=sample_weight, groups=groups)
        X = whole = check_features(self, X, reset=True)
        Y, weights, loss = self._targets(y, sample_weight, X.shape[0])
        growths, penalty = self._growths(), self._penalty(Y.shape[1], self.l1, self.l0)
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
                    grow(design, Y, loss, penalty, growth, run.tell, runs, samples(weights))
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
                "_networks": networks,
            },
            models={size: self._model(net, design) for size, (_, net, *_) in networks.items()},
            size=min(networks, key=lambda size: networks[size][2]),
            stopped=grown.stopped,
        )
