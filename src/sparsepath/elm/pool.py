"""A pool of neurons on a problem, of which machines are made, in double and in single precision."""

import threading
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsepath.arrays import Floats
from sparsepath.elm.network import Fit, Indices, Neurons, Space, Target

Arrays = tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]
ROUGH_ROOM = 1e-4  # 1 - leverage, in single precision, at which a sample decides its own prediction
HOLDS_IN_SINGLE = 1e-6  # the least ridge with which machines may be compared in single precision


class Pool:
    """A fixed pool of neurons on a problem; fits with any scaling and any of the neurons.

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
        self._lent = threading.local()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_lent": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lent=threading.local())

    @cached_property
    def ridges(self) -> Floats:
        """The ridges to choose from, a power of ten apart."""
        steps = round(np.log10(self.most / self.ridge))
        return np.geomspace(self.ridge, self.most, steps + 1)

    def drawn(self, neurons: Neurons, ridge: float) -> "Pool":
        """As many other neurons, another ridge, in the same room."""
        other = Pool(self.XT, self.target, neurons, ridge)
        other._lent = self._lent
        return other

    def sample(self, most: int) -> "Pool":
        """The same on a sample of so many rows, if there are more: a quick judge."""
        n = self.target.n
        if n <= most:
            return self
        rows = np.sort(np.random.default_rng(n).permutation(n)[:most])
        XT = np.ascontiguousarray(self.XT[:, rows])
        return Pool(XT, self.target.take(rows), self.neurons, self.ridge, self.most)

    @property
    def arrays(self) -> Arrays:
        """Features, weights and biases of the neurons, centred targets."""
        return self.XT, self.neurons.weights, self.neurons.biases, self.target.rows

    @cached_property
    def single(self) -> Arrays:
        """The same in single precision."""
        XT, weights, biases, rows = (np.ascontiguousarray(a, np.float32) for a in self.arrays)
        return XT, weights, biases, rows

    def first(self, m: int, ridge: float) -> "Pool":
        """The first neurons alone, with another ridge."""
        return Pool(self.XT, self.target, self.neurons.take(slice(0, m)), ridge)

    def space(self) -> Space:
        """This thread's room."""
        if not hasattr(self._lent, "space"):
            self._lent.space = Space(len(self.neurons), self.target.n)
        space: Space = self._lent.space
        return space

    def fit(self, scaling: Floats, which: Indices | slice, ridge: float | None = None) -> Fit:
        """Fit the output layer of some neurons, features scaled."""
        active = np.flatnonzero(scaling)
        seen = self.neurons.take(which).on(active, scaling[active])
        XT = self.XT if len(active) == len(scaling) else self.XT[active]
        return Fit(seen, XT, self.target, self.ridge if ridge is None else ridge, self.space())
