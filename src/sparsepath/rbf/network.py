"""The network of Gaussians with one weight per input: outputs and derivatives by matrix products.

Tikka (2008), equations 10 and 11, for samples x_n and centres c_m of d inputs:

    yhat_n = alpha_0 + sum_m alpha_m K_nm        K_nm = exp(-sum_i w_i (x_ni - c_mi)^2)

With (x - c)^2 = x^2 - 2 x c + c^2 both the distances and the derivatives by the weights

    d yhat_n / d w_i = -sum_m alpha_m K_nm (x_ni - c_mi)^2
                     = -[ x_ni^2 (K a)_n - 2 x_ni (K (a c_i))_n + (K (a c_i^2))_n ],  a = alpha_1..M

are matrix products; no array of samples x centres x inputs is created. The mean squared error E =
|yhat - y|^2 / N then has the gradient (2/N) A (yhat - y) and the Gauss-Newton Hessian (2/N) A A',
where the rows of A are the derivatives of yhat: a row of ones for alpha_0, the rows of K' for
alpha_1..M, then one row per weight. The block of the alphas is exact, because yhat is linear in
them; the other blocks omit the second derivatives of yhat times the residuals (A.2).

Sample weights p_n (of mean 1) make E a weighted mean. Outputs, target and derivatives of a sample
are then multiplied by sqrt(p_n): the ones are replaced by that number, and for K_nm, log(p_n) / 2
is added to the exponent, so that all formulas above remain valid.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsyrk

from sparsepath._core import rbf as core
from sparsepath.system.arrays import Floats

IN_USE = 1e-3  # of the largest weight or coefficient: what is smaller hardly counts


class Exponents:
    """-sum_i w_i (c_mi - x_ni)^2 + shift_n, centres x samples, for any w: one product.

    Its factors are (2 w c, w c^2, 1) of the centres and (x, -1, shift - w x^2) of the samples; what
    does not depend on w is written once.
    """

    def __init__(self, X: Floats, centres: Floats, shift: Floats | float = 0.0) -> None:
        d = X.shape[1]
        self._centres, self._shift = centres, shift
        self._squares, self._centre_squares = X * X, centres * centres
        self._left, self._right = np.ones((len(centres), d + 2)), np.empty((d + 2, len(X)))
        self._right[:d] = X.T
        self._right[d] = -1.0

    def at(self, w: Floats, out: Floats | None = None) -> Floats:
        d = len(w)
        np.multiply(self._centres, 2.0 * w, out=self._left[:, :d])
        np.matmul(self._centre_squares, w, out=self._left[:, d])
        np.subtract(self._shift, self._squares @ w, out=self._right[d + 1])
        return np.matmul(self._left, self._right, out=out)


def gaussians(X: Floats, centres: Floats, w: Floats) -> Floats:
    """The basis functions, centres x samples: exp(-sum_i w_i (c_mi - x_ni)^2).

    >>> gaussians(np.array([[0.0], [1.0]]), np.array([[0.0]]), np.array([2.0])).round(3)
    array([[1.   , 0.135]])
    """
    out = Exponents(X, centres).at(w)
    return np.exp(out, out=out)


class RBFNetwork:
    """A problem (X, y) and centres, with room for A; see the module for the notation.

    Parameters
    ----------
    X, y : arrays of shape (N, d) and (N,)
        Standardised samples.
    centres : array of shape (M, d)
    weights : array of shape (N,), optional
        How much each sample counts, above zero; only their ratios matter.
    """

    def __init__(
        self, X: Floats, y: Floats, centres: Floats, weights: Floats | None = None
    ) -> None:
        roots: Floats | float = 1.0
        shift: Floats | float = 0.0
        if weights is not None:
            roots = np.sqrt(weights / weights.mean())
            shift = np.log(roots)
        self.X, self.centres = np.ascontiguousarray(X), np.ascontiguousarray(centres)
        self.y = y * roots
        self.n_samples, self.n_inputs = X.shape
        self.n_centres = len(centres)
        self._exponents = Exponents(self.X, self.centres, shift)
        self._across = np.ascontiguousarray(self.X.T)
        ones, across = np.ones((1, self.n_centres)), self.centres.T
        self._powers = np.concatenate([ones, across, across**2])
        self._A = np.empty((1 + self.n_centres + self.n_inputs, self.n_samples))
        self._A[0] = roots
        self._K = self._A[1 : self.n_centres + 1]
        self.basis = self._A[: self.n_centres + 1]  # the bias row and the Gaussians, (M + 1) x N

    def place(self, w: Floats) -> Floats:
        """Evaluate the Gaussians at weights w; returns the basis, which is changed in place."""
        core.exponentials(self._exponents.at(w, self._K))
        return self.basis

    def at(self, w: Floats) -> Floats:
        """The basis at weights w, in an array of its own: what was placed stays where it is."""
        basis = np.empty_like(self.basis)
        basis[0] = self.basis[0]
        core.exponentials(self._exponents.at(w, basis[1:]))
        return basis

    def residuals(self, alpha: Floats) -> Floats:
        """Outputs less the target, at alpha and the weights last placed."""
        return alpha @ self.basis - self.y

    def error(self, alpha: Floats) -> float:
        """The mean squared error E at alpha and the weights last placed."""
        off = self.residuals(alpha)
        return float(off @ off) / self.n_samples

    def gradient(self, alpha: Floats, off: Floats | None = None) -> Floats:
        """Gradient of E by (alpha, w); fills A. ``off``: the residuals, if they are known."""
        off = self.residuals(alpha) if off is None else off
        moments = (self._powers * alpha[1:]) @ self._K
        core.weight_derivatives(self._across, moments, self._A[1 + self.n_centres :])
        return (2.0 / self.n_samples) * (self._A @ off)

    def weight_effects(self) -> Floats:
        """Mean squares of the outputs' derivatives by the weights, of the A last filled."""
        rows = self._A[1 + self.n_centres :]
        return np.einsum("in,in->i", rows, rows) / self.n_samples

    def gauss_newton(self, rows: slice = slice(None), out: Floats | None = None) -> Floats:
        """(2/N) A A' of these rows of the A last filled; only the lower triangle is set.

        ``out``, in Fortran order, takes the result.
        """
        scale = 2.0 / self.n_samples
        if out is None:
            return dsyrk(scale, self._A[rows].T, trans=1, lower=1)
        return dsyrk(scale, self._A[rows].T, trans=1, lower=1, c=out, overwrite_c=1)

    def curvature(
        self, alpha: Floats, e: Floats, inputs: NDArray[np.intp]
    ) -> tuple[Floats, Floats]:
        """What the Gauss-Newton Hessian of E leaves out, for some inputs I; at the last weights.

        With the residuals e = yhat - y and D_nmi = (x_ni - c_mi)^2:

            alpha_m, w_i:   -(2/N) sum_n e_n K_nm D_nmi                    (M x |I|)
            w_i, w_j:        (2/N) sum_nm e_n alpha_m K_nm D_nmi D_nmj     (|I| x |I|)

        Centres whose alpha is not in use are skipped in the second.
        """
        a = alpha[1:]
        cross, among = core.second_derivatives(
            self._K,
            self._across[inputs],
            np.ascontiguousarray(self.centres[:, inputs]),
            a,
            e,
            IN_USE * np.abs(a).max(initial=0.0),
        )
        scale = 2.0 / self.n_samples
        return -scale * cross, scale * among
