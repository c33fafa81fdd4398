"""Compiled loops of the network: Gaussians and derivatives. Arrays and numbers only; no checks."""

import numpy as np
from numba import njit

from sparsepath.data.compiled_exp import exponential

LEAST_POWER = -708.0  # below it exp is less than any normal number


@njit(nogil=True, cache=True, fastmath={"contract"}, error_model="numpy")
def exponentials(H):  # type: ignore[no-untyped-def]
    """In place: H <- exp(H), for entries below 700; what would be below 1e-307 becomes 0."""
    for j in range(H.shape[0]):
        h = H[j]
        for i in range(len(h)):
            x = h[i]
            e = exponential(x)
            h[i] = 0.0 if x < LEAST_POWER else e


# Sums may be reordered, so that they run in vector registers; NaN and infinity keep their meaning.
FAST = {"reassoc", "contract", "nsz"}


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def gradient(A, K, across, squares, powers, alpha, off):  # type: ignore[no-untyped-def]
    """Gradient of E by (alpha, w); in place: the last rows of A, derivatives by the weights.

    ``K`` are the rows of A that are Gaussians, ``across`` and ``squares`` the inputs and their
    squares, inputs x samples; the rows of ``powers`` are ones, the centres' inputs, their squares.
    """
    (d, n), M = across.shape, len(K)
    scaled = np.empty_like(powers)
    for i in range(len(powers)):
        row, of_row = scaled[i], powers[i]
        for m in range(M):
            row[m] = alpha[1 + m] * of_row[m]
    moments = np.dot(scaled, K)
    total = moments[0]
    for i in range(d):
        row, x, square = A[1 + M + i], across[i], squares[i]
        first, second = moments[1 + i], moments[1 + d + i]
        for k in range(n):
            row[k] = 2.0 * x[k] * first[k] - square[k] * total[k] - second[k]
    out = np.dot(A, off)
    for i in range(len(out)):
        out[i] *= 2.0 / n
    return out


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def second_derivatives(K, X, C, alpha, e, least):  # type: ignore[no-untyped-def]
    """Sums over n of e K D_i, for every centre, and over n and m of e alpha K D_i D_j.

    D_i = (x_ni - c_mi)^2; X is inputs x samples, C centres x inputs. Centres whose alpha is not
    above ``least`` are passed over in the second.
    """
    d, n = X.shape
    by_centre, among = np.empty((len(K), d)), np.zeros((d, d))
    off, weighted, D = np.empty(n), np.empty(n), np.empty((d, n))
    for m in range(len(K)):
        row = K[m]
        for k in range(n):
            off[k] = e[k] * row[k]
        for i in range(d):
            x, c, squares, total = X[i], C[m, i], D[i], 0.0
            for k in range(n):
                square = (x[k] - c) * (x[k] - c)
                squares[k] = square
                total += off[k] * square
            by_centre[m, i] = total
        if abs(alpha[m]) <= least:
            continue
        for i in range(d):
            squares = D[i]
            for k in range(n):
                weighted[k] = alpha[m] * off[k] * squares[k]
            for j in range(i + 1):
                squares, total = D[j], 0.0
                for k in range(n):
                    total += weighted[k] * squares[k]
                among[i, j] += total
    for i in range(d):
        for j in range(i):
            among[j, i] = among[i, j]
    return by_centre, among
