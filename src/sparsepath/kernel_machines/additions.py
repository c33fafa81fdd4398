"""Choose the input to add to a least-squares support vector machine.

An exact leave-one-out error requires the factorisation of an n x n matrix. To rank the candidates,
m samples L (``LANDMARKS``) are used as centres, while the errors are those of all n samples: with
K_LL = R R' and F = K_.L R^-T (n x m) the machine

    minimise  |theta|^2 / gamma + |y - F theta - b|^2

has the kernel F F', which is K itself when L is all samples. Let F_c be F less its column means,
F_c' F_c = V diag(d) V' and U = F_c V. For every gamma the hat matrix and the residuals left out are

    H = 1 1'/n + U diag(1 / (d + 1/gamma)) U'        e_F = (I - H_FF)^-1 (y - H y)_F

at a cost of n m^2. The error of the best candidate, which is on the path, is exact: its n x n
kernel is factorised once, at the width chosen in the ranking. With up to m samples, every candidate
is evaluated exactly.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, eigh, solve_triangular

from sparsepath.kernel_machines.lssvm import LSSVM, Block, Blocks, gaussian_kernel
from sparsepath.system.arrays import Floats

# Friedman's problem, 300 x 15, five seeds: 30, 50, 100 and all samples take 1.3, 1.6, 2.7 and 10 s;
# the five inputs are found by all, with mean error .056, .055, .055 and .055 of the variance.
LANDMARKS = 50
RIDGE = 1e-10  # on the diagonal of K_LL, which is one: its factor exists however near samples are


@dataclass(frozen=True)
class Addition:
    """An input to add, and the machine with it."""

    feature: int
    residuals: Floats  # of cross-validation
    gamma: float
    sigma2: float
    dual: Floats
    bias: Floats


class LowRank:
    """The machine with the kernel of some samples, for any gamma.

    ``K`` is n x m, the columns of the kernel matrix at ``landmarks``; targets ``Y`` are n x T.
    """

    def __init__(self, K: Floats, landmarks: Block, Y: Floats) -> None:
        inner = K[landmarks]
        inner[np.diag_indices_from(inner)] += RIDGE
        F = solve_triangular(cholesky(inner, lower=True), K.T, lower=True, check_finite=False).T
        F -= F.mean(axis=0)
        self._d, V = eigh(F.T @ F)
        self._U = F @ V
        self._y = Y - Y.mean(axis=0)
        self._Uy = self._U.T @ self._y

    def residuals(self, gamma: float, blocks: Blocks) -> Floats:
        """Residuals, n x T, of every sample when it, or its block, is left out."""
        U, inverse = self._U, 1.0 / (np.maximum(self._d, 0.0) + 1.0 / gamma)
        e = self._y - U @ (inverse[:, None] * self._Uy)
        if blocks is None:
            return e / (1.0 - 1.0 / len(U) - (U * U) @ inverse)[:, None]
        for block in blocks:
            H = (U[block] * inverse) @ U[block].T + 1.0 / len(U)
            e[block] = np.linalg.solve(np.eye(len(block)) - H, e[block])
        return e


class Candidates:
    """Inputs that may come next to the inputs that are in.

    Parameters
    ----------
    Z, Y : array
        Standardised inputs, n x d, and targets, n x T.
    gammas, sigma2s : sequence of float
        Values to try; of equal errors the first counts.
    blocks : list of array or None
        Samples that are left out together; None: each by itself.
    """

    def __init__(
        self,
        Z: Floats,
        Y: Floats,
        gammas: Sequence[float],
        sigma2s: Sequence[float],
        blocks: Blocks,
    ) -> None:
        self.Z, self.Y, self.gammas, self.sigma2s, self.blocks = Z, Y, gammas, sigma2s, blocks
        n = len(Z)
        few = min(n, LANDMARKS)
        self._landmarks = np.sort(np.random.default_rng(0).permutation(n)[:few])
        self._near = np.zeros((n, few))  # squared distances to the landmarks
        self._subset: tuple[int, ...] = ()

    def add(self, feature: int) -> None:
        """Take an input in."""
        self._subset += (feature,)
        self._near += self._distances(feature)

    def best(self, features: Sequence[int]) -> Addition:
        """Return the feature with the minimum cross-validation error, at its best gamma and sigma2.

        Ties go to the first of features, sigma2s and gammas.
        """
        exact = len(self._landmarks) == len(self.Z)
        least, found = np.inf, (features[0], self.sigma2s[0])
        for feature in features:
            near = self._near + self._distances(feature)
            for sigma2 in self.sigma2s:
                K = np.exp(near / -sigma2)
                machine = LSSVM(K, self.Y) if exact else LowRank(K, self._landmarks, self.Y)
                error, *_ = self._best_gamma(machine)
                if error < least * (1 - 1e-12):
                    least, found = error, (feature, sigma2)
        return self._addition(*found)

    def _distances(self, feature: int) -> Floats:
        z = self.Z[:, feature]
        return (z[:, None] - z[self._landmarks]) ** 2

    def _best_gamma(self, machine: LSSVM | LowRank) -> tuple[float, float, Floats]:
        """Return the minimum error, its gamma and its residuals."""
        best = (np.inf, self.gammas[0], np.empty(0))
        for gamma in self.gammas:
            e = machine.residuals(gamma, self.blocks)
            error = float(np.mean(e * e))
            if error < best[0] * (1 - 1e-12):
                best = (error, gamma, e)
        return best

    def _addition(self, feature: int, sigma2: float) -> Addition:
        """The machine on all samples with one more feature, at its best gamma."""
        Z = self.Z[:, [*self._subset, feature]]
        machine = LSSVM(gaussian_kernel(Z, Z, sigma2), self.Y)
        _, gamma, e = self._best_gamma(machine)
        return Addition(feature, e, gamma, sigma2, *machine.fit(gamma))
