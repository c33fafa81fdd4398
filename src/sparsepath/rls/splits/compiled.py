"""Compiled loops over splits, for ``model.py`` and ``elimination.py``."""

import numpy as np
from numba import njit

# Sums may be reordered, so that they run in vector registers; NaN and infinity keep their meaning.
FAST = {"reassoc", "contract", "nsz"}
COLUMN_TILE = 512  # columns whose sums are taken together: they stay in the fastest cache


@njit(nogil=True, cache=True, fastmath=FAST)
def take_out(A, B, a, share, half, place, size):  # type: ignore[no-untyped-def]
    """Take a feature out of the lower triangles of A^-1 and B, in place.

    They lose share a' and share half' + half share', of every split; then the last feature of
    ``size`` comes to the place that is free.
    """
    last = size - 1
    for f in range(A.shape[0]):
        for i in range(size):
            row, other = A[f, i], B[f, i]
            s, h = share[f, i], half[f, i]
            for j in range(i + 1):
                row[j] -= s * a[f, j]
                other[j] -= s * half[f, j] + h * share[f, j]
        for M in (A[f], B[f]):
            for j in range(place):
                M[place, j] = M[last, j]
            M[place, place] = M[last, last]
            for i in range(place + 1, last):
                M[i, place] = M[last, i]


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def follow(K, D, UH, k, steps, of_b, numbers, sums, sse, share, size, alpha, least, new):  # type: ignore[no-untyped-def]
    """Let all columns follow an addition, and judge them; the letters are those of ``model.py``.

    ``steps`` are u_b rho^2, u_b and d_l of every split, ``of_b`` pivot and d_b'd_b, ``numbers``
    omega, e'd_b and c_b. ``UH`` gets u and x'd at place k, and ``sums``, that is s, dd, c and ed,
    become those of ``new``, which also gets the criterion with each column added, and whether no
    more is left of it in some split than each of two shares, ``least``, of its ``size``.
    """
    (a, x, d), (pivots, squares), (omega, e_b, c_b) = steps, of_b, numbers
    s0, dd0, c0, ed0 = sums
    s, dd, c, ed, errors, low, lower = new
    F, n, T = c.shape
    u, y, g = np.empty((3, COLUMN_TILE))
    for i in range(n):
        errors[i] = 0.0
        low[i] = lower[i] = False
    for f in range(F):
        pivot, d_bb = pivots[f], squares[f]
        for begin in range(0, n, COLUMN_TILE):
            end = min(n, begin + COLUMN_TILE)
            for i in range(end - begin):
                u[i], y[i], g[i] = K[f, begin + i], D[f, begin + i], 0.0
            for before in range(k):
                al, xl, dl = a[f, before], x[f, before], d[f, before]
                ul, hl = UH[0, f, before, begin:end], UH[1, f, before, begin:end]
                for i in range(end - begin):
                    u[i] -= al * ul[i]
                    y[i] -= xl * hl[i]
                    g[i] -= dl * ul[i]
            for i in range(end - begin):
                j = begin + i
                v = u[i] / pivot
                w = g[i] + y[i]
                UH[0, f, k, j], UH[1, f, k, j] = v, y[i]
                left = s0[f, j] - v * v * pivot
                square = dd0[f, j] + v * (v * d_bb - 2.0 * w)
                s[f, j], dd[f, j] = left, square
                left += alpha
                low[j] |= left <= least[0] * size[f, j]
                lower[j] |= left <= least[1] * size[f, j]
                change = 0.0
                for t in range(T):
                    o = omega[f, t]
                    e = ed0[f, j, t] - v * (e_b[f, t] - o * d_bb) - w * o
                    p = c0[f, j, t] - v * c_b[f, t]
                    ed[f, j, t], c[f, j, t] = e, p
                    p /= left
                    change += p * (p * square - 2.0 * e)
                errors[j] += (sse[f] + change) / share[f]
