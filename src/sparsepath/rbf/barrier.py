"""The barrier problem and the Newton system shared by all solvers.

Tikka (2008), equation 14. With u = s + alpha and v = s - alpha, so that u, v > 0 says |alpha| < s:

    J = E(alpha, w) - mu [ log(r - sum s) + (1/M) sum_m (log u_m + log v_m)
                         + log(t - sum w) + (1/d) sum_i log w_i ]

A Newton step on J takes, for every logarithm -mu k log(x), the curvature D: mu k / x^2 (primal), or
z / x with a multiplier z of its own that tends to mu k / x (primal-dual). For the alphas and
slacks, with D_u, D_v and the curvature q of the budget, plus damping lam on both:

    alpha, alpha:  H + diag(b)     alpha, s:  diag(c)     s, s:  diag(b) + q 1 1'
    b = lam + D_u + D_v            c = D_u - D_v

The slacks are eliminated: with theta = q / (1 + q sum 1/b), the remaining system for alpha has the
matrix

    H + diag((b^2 - c^2) / b) + theta (c/b)(c/b)',      b^2 - c^2 = (lam + 2 D_u)(lam + 2 D_v)

a product of positive numbers, so that no digits are lost near the boundary. The weights keep their
own rows: H + diag(D_w + lam_w) + q_w 1 1'. One Cholesky factorisation of order 1 + M + d replaces
one of order 2 (M + 1) + d.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from sparsepath._core import rbf as core
from sparsepath.system.arrays import Floats


@dataclass(frozen=True)
class Budget:
    """The two budgets, and the weights of the logarithms in equation 14."""

    r: float
    t: float

    def shares(self, n_alpha: int, n_inputs: int) -> Floats:
        """Return the weight of every logarithm, in the order of ``Point.all``."""
        each = (1.0 / (n_alpha - 1), 1.0 / n_inputs, 1.0)
        return np.repeat(each, (2 * n_alpha, n_inputs, 2))


class InteriorPoint:
    """A strictly feasible point: u = s + alpha, v = s - alpha, w, and the slacks of the budgets.

    All that must stay positive lies in one array, ``all``, so that what is done to every entry
    alike is done at once.
    """

    __slots__ = ("all", "n_alpha")

    def __init__(self, values: Floats, n_alpha: int) -> None:
        self.all, self.n_alpha = values, n_alpha

    @classmethod
    def of(cls, s: Floats, alpha: Floats, w: Floats, left_r: float, left_t: float) -> Self:
        """The point with these slacks, coefficients and weights."""
        return cls(np.concatenate([s + alpha, s - alpha, w, (left_r, left_t)]), len(s))

    @property
    def u(self) -> Floats:
        return self.all[: self.n_alpha]

    @property
    def v(self) -> Floats:
        return self.all[self.n_alpha : 2 * self.n_alpha]

    @property
    def w(self) -> Floats:
        return self.all[2 * self.n_alpha : -2]

    @property
    def left_r(self) -> float:
        return float(self.all[-2])

    @property
    def left_t(self) -> float:
        return float(self.all[-1])

    @property
    def alpha(self) -> Floats:
        return 0.5 * (self.u - self.v)

    @property
    def s(self) -> Floats:
        return 0.5 * (self.u + self.v)

    def moved(self, step: "InteriorPoint", length: float) -> "InteriorPoint":
        """The point a step further."""
        return InteriorPoint(self.all + length * step.all, self.n_alpha)

    def copy(self) -> "InteriorPoint":
        return InteriorPoint(self.all.copy(), self.n_alpha)


def start(budget: Budget, n_alpha: int, n_inputs: int) -> InteriorPoint:
    """Section 5: 0.9 of the budgets in equal parts; alpha = 0."""
    s = np.full(n_alpha, 0.9 * budget.r / n_alpha)
    w = np.full(n_inputs, 0.9 * budget.t / n_inputs)
    return InteriorPoint.of(s, np.zeros(n_alpha), w, budget.r - s.sum(), budget.t - w.sum())


def barrier(shares: Floats, x: InteriorPoint, parts: str = "both") -> float:
    """B_1 + B_2 of equation 14, or the one of them that belongs to the part that moves."""
    if parts == "both":
        return -float(shares @ np.log(x.all))
    of_alpha = np.zeros(len(x.all), dtype=bool)
    of_alpha[: 2 * x.n_alpha] = of_alpha[-2] = True
    moving = of_alpha if parts == "alpha" else ~of_alpha
    return -float(shares[moving] @ np.log(x.all[moving]))


def newton_system(
    H: Floats, curvature: InteriorPoint, parts: str, lam: float, lam_w: Floats
) -> core.NewtonSystem:
    """The factored system; see the module. It is not ``positive`` if nothing can be solved.

    Parameters
    ----------
    H : array, Fortran order, lower triangle
        Gauss-Newton Hessian of the part that moves; overwritten.
    curvature : InteriorPoint
        The second derivatives of the logarithms: D_u, D_v, D_w and q of both budgets.
    parts : {"both", "alpha", "weights"}
        What may move.
    lam : float
        Damping of alpha and s.
    lam_w : array
        Damping of the weights.
    """
    n, moves = curvature.n_alpha, parts != "weights"
    return core.NewtonSystem(H.T, curvature.all, n, moves, lam, lam_w)
