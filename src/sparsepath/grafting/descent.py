"""A local minimum of a network's criterion: L-BFGS-B on split weights, then Newton steps.

Weights under an L1 penalty are written w = u - v with u, v >= 0, which has no kinks; what is not
zero at the end is polished with the exact second derivatives.
"""

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

import numpy as np

from sparsepath.arrays import Floats

MOST_POLISH = 30
Net = TypeVar("Net")


class Descent(ABC, Generic[Net]):
    """C (without L0) over a vector of parameters, of which the first ``c`` are penalised."""

    c: int
    l1: Floats

    @abstractmethod
    def pack(self) -> Floats:
        """The parameters of the network at hand."""

    @abstractmethod
    def unpack(self, p: Floats) -> Net:
        """The network of these parameters."""

    @abstractmethod
    def smooth(self, p: Floats) -> tuple[float, Floats]:
        """Loss and l2 terms with their gradient."""

    @abstractmethod
    def hessian(self, p: Floats) -> Floats:
        """Second derivatives of :meth:`smooth`."""

    def value(self, p: Floats) -> float:
        """C without L0."""
        return self.smooth(p)[0] + float(self.l1 @ np.abs(p[: self.c]))

    def minimise(self, tol: float, max_iter: int) -> tuple[Net, float]:
        """The network at a local minimum near by, and C there (without L0)."""
        from scipy.optimize import minimize

        c = self.c

        def split(t: Floats) -> tuple[float, Floats]:
            p = np.concatenate([t[:c] - t[c : 2 * c], t[2 * c :]])
            value, g = self.smooth(p)
            total = value + float(self.l1 @ (t[:c] + t[c : 2 * c]))
            return total, np.concatenate([g[:c] + self.l1, self.l1 - g[:c], g[c:]])

        p = self.pack()
        start = np.concatenate([np.maximum(p[:c], 0), np.maximum(-p[:c], 0), p[c:]])
        bounds = [(0, None)] * (2 * c) + [(None, None)] * (len(p) - c)
        found = minimize(
            split, start, jac=True, bounds=bounds, method="L-BFGS-B",
            options={"gtol": tol, "ftol": 1e-15, "maxiter": max_iter, "maxfun": 2 * max_iter},
        )  # fmt: skip
        t = found.x
        p = np.concatenate([t[:c] - t[c : 2 * c], t[2 * c :]])
        p = self._polish(p, tol)
        return self.unpack(p), self.value(p)

    def _polish(self, p: Floats, tol: float) -> Floats:
        """Newton steps on what is not zero, while the gradient shrinks and C does not rise."""
        here, size = self.value(p), np.inf
        damping = 1e-12
        for _ in range(MOST_POLISH):
            g = self.smooth(p)[1]
            g[: self.c] += self.l1 * np.sign(p[: self.c])
            free = np.append(p[: self.c] != 0, np.ones(len(p) - self.c, dtype=bool))
            size = float(np.abs(g[free]).max())
            if size <= 1e-4 * tol or damping > 1.0:
                break
            H = self.hessian(p)[np.ix_(free, free)]
            E, Q = np.linalg.eigh(H)
            ridge = damping * max(float(E[-1]), 1e-300)
            step = np.zeros_like(p)
            step[free] = -Q @ ((Q.T @ g[free]) / np.maximum(np.abs(E), ridge))
            trial = p + step
            trial[: self.c][p[: self.c] * trial[: self.c] < 0] = 0.0
            there = self.value(trial)
            if there <= here + 1e-15 * abs(here):
                p, here, damping = trial, there, max(damping / 10, 1e-12)
            else:
                damping *= 100
        return p
