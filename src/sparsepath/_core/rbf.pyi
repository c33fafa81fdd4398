"""Solvers of RBF networks."""

from typing import Annotated

import numpy
from numpy.typing import NDArray


class StepRule:
    """When a step is long enough, and how further ones are made of it."""

    def __init__(self, fraction: float, long_step: float, longer: float, band: float, recentrings: int) -> None: ...

class Move:
    """A step of the point and of its multipliers."""

    @property
    def step(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def dual(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def slope(self) -> float:
        """Slope of J along the step."""

    @property
    def longest(self) -> float:
        """The length, of at most 1, that the boundary leaves."""

    @property
    def decrement(self) -> float:
        """The fall of J that the quadratic model promises."""

class Trial:
    """A point and what J is made of there."""

    @property
    def x(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def alpha(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def off(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """Outputs less the target."""

    @property
    def error(self) -> float:
        """The mean squared error."""

    def value(self, mu: float) -> float:
        """J."""

class Objective:
    """What J is made of, at the Gaussians that the basis holds."""

    def __init__(self, basis: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], y: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], shares: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def trial(self, x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], step: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], length: float) -> Trial:
        """The point a step further."""

class NewtonSystem:
    """A factored system; its Hessian is overwritten."""

    def __init__(self, upper: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], curvature: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_alpha: int, alpha_moves: bool, lam: float, lam_w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    @property
    def positive(self) -> bool:
        """Whether it is positive definite; if not, it solves nothing."""

    def solve(self, slopes: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """The step down slopes by alpha, s and w."""

    def direction(self, gradient: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], plain: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], z: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], rule: StepRule) -> Move:
        """The best of a step for plain (mu k) and of corrections."""

    def straight_trial(self, objective: Objective, x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], z: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], gradient: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], move: Move, length: float, fraction: float, mu: float) -> Trial:
        """
        The point a step further, or what straightening makes of it if J is lower there.
        """

    def straightened(self, objective: Objective, off: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], expected: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """The step of alpha alone that undoes what dE/dalpha is beyond expected."""

def slopes(gradient: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], targets: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_alpha: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """Gradient of J by alpha, s and w, with targets in place of mu k."""

def slope_along(slopes: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], step: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_alpha: int) -> float:
    """The derivative of J along a step."""

def longest_step(x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], step: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], fraction: float) -> float:
    """The longest step, at most 1, that leaves 1 - fraction of every x."""

def recentring(x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], z: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], step: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], dual: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], middle: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], length: float, band: float) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """
    What the products x z lack, at a step of this length, to be within band of middle.
    """

def add_second_derivatives(upper: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], n: int, live: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], cross: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], among: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None:
    """Add to a Hessian what is beyond Gauss-Newton."""

def move_multipliers(z: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], dual: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], middle: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], fraction: float, factor: float) -> None:
    """Move multipliers along dual, near middle / x."""

def exponentials(H: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> None:
    """
    H <- exp(H), for entries below 700; what would be below 1e-307 becomes 0.
    """

def weight_derivatives(across: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], moments: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> None:
    """Derivatives of the outputs by the weights, inputs x samples."""

def second_derivatives(K: NDArray[numpy.float64], X: NDArray[numpy.float64], C: NDArray[numpy.float64], alpha: NDArray[numpy.float64], e: NDArray[numpy.float64], least: float) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]:
    """Sums of e K D_i for every centre, and of e alpha K D_i D_j."""

def drop_corners(V: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], shares: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], may_go: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], room: float) -> None:
    """Leave out corners, the one that costs least first."""
