"""The compiled loop of ``numbers.py``: single operations in a fixed order, as NumPy makes them."""

import numpy as np
from numba import njit


@njit(nogil=True, cache=True, error_model="numpy")
def eliminate(A, D, alpha, U, changes, coef, B):  # type: ignore[no-untyped-def]
    """As the function of that name in ``numbers.py``; what is below the diagonals is left."""
    k, N, F = D.shape
    u, rest = np.empty((N, F + 1)), np.empty((N, F))
    for b in range(k):
        for j in range(b + 1, N):
            for f in range(F + 1):
                u[j, f] = A[b, j, f] / (A[b, b, f] + alpha)
            for f in range(F):
                U[b, j, f] = u[j, f]
                rest[j, f] = D[b, j, f] - u[j, f] * D[b, b, f]
        for i in range(b + 1, k):
            for j in range(i, N):
                for f in range(F + 1):
                    A[i, j, f] -= u[i, f] * A[b, j, f]
                for f in range(F):
                    D[i, j, f] = (D[i, j, f] - u[i, f] * rest[j, f]) - D[b, i, f] * u[j, f]
        for j in range(k, N):
            for f in range(F):
                changes[b + 1, f, j - k] = u[j, f] * (u[j, f] * D[b, b, f] - 2.0 * D[b, j, f])
        for i in range(b):
            for j in range(b + 1, N):
                B[i, j] -= B[i, b] * u[j, F]
        for j in range(b + 1, N):
            B[b, j] = u[j, F]
        for i in range(b + 1):
            for t in range(N - k):
                coef[b + 1, i, t] = B[i, k + t]
