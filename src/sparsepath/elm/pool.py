"""Pool of neurons from which machines are built, in double and single precision."""

from functools import cached_property
from typing import Any

import numpy as np

from sparsepath._core import elm as core
from sparsepath.elm.network import ROOM, Fit, Indices, Neurons, Target
from sparsepath.system.arrays import Floats

ROUGH_ROOM = 1e-4  # 1 - leverage, in single precision, at which a sample decides its own prediction
HOLDS_IN_SINGLE = 1e-6  # the least ridge with which machines may be compared in single precision


class Pool:
    """Fixed pool of neurons; fits with any scaling and subset of the neurons.

    Parameters
    ----------
    XT : array, d x n
        Standardised features as rows.
    target : Target
    neurons : Neurons
        tanh neurons on all d features.
    ridge : float
    most : float, optional
        The ridge of a machine is chosen between ``ridge`` and this; if not given, it is fixed.
    """

    def __init__(
        self, XT: Floats, target: Target, neurons: Neurons, ridge: float, most: float | None = None
    ) -> None:
        self.XT, self.target, self.neurons, self.ridge = XT, target, neurons, ridge
        self.most = ridge if most is None else most

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k not in ("single", "double")}

    @cached_property
    def ridges(self) -> Floats:
        """Ridges to choose from, a power of ten apart."""
        steps = round(np.log10(self.most / self.ridge))
        return np.geomspace(self.ridge, self.most, steps + 1)

    def drawn(self, neurons: Neurons, ridge: float) -> "Pool":
        """Other neurons, another ridge."""
        return Pool(self.XT, self.target, neurons, ridge)

    def sample(self, most: int) -> "Pool":
        """Return the pool on a sample of the rows, for fast scores."""
        n = self.target.n
        if n <= most:
            return self
        rows = np.sort(np.random.default_rng(n).permutation(n)[:most])
        XT = np.ascontiguousarray(self.XT[:, rows])
        return Pool(XT, self.target.take(rows), self.neurons, self.ridge, self.most)

    def _compiled(self, make: Any, number: Any, least: float) -> Any:
        arrays = self.XT, self.neurons.weights, self.neurons.biases, self.target.rows
        return make(*(np.ascontiguousarray(a, number) for a in arrays), self.target.own, least)

    @cached_property
    def double(self) -> core.DoublePool:
        """Arrays for the compiled loops."""
        pool: core.DoublePool = self._compiled(core.DoublePool, np.float64, ROOM)
        return pool

    @cached_property
    def single(self) -> core.SinglePool:
        """Arrays in single precision."""
        pool: core.SinglePool = self._compiled(core.SinglePool, np.float32, ROUGH_ROOM)
        return pool

    @property
    def rough(self) -> core.SinglePool | core.DoublePool:
        """Arrays in single precision, unless the ridge may be too small."""
        return self.single if self.ridge >= HOLDS_IN_SINGLE else self.double

    def fit(self, scaling: Floats, which: Indices | slice, ridge: float | None = None) -> Fit:
        """Fit the output layer of some neurons, features scaled."""
        active = np.flatnonzero(scaling)
        seen = self.neurons.take(which).on(active, scaling[active])
        XT = self.XT if len(active) == len(scaling) else self.XT[active]
        return Fit(seen, XT, self.target, self.ridge if ridge is None else ridge)
