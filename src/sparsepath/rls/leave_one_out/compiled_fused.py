"""Compiled loops of ``fused.py``: plain loops over rows that carry residuals and coefficients."""

import numpy as np
from numba import njit

# Sums may be reordered, so that they run in vector registers; NaN and infinity keep their meaning.
FAST = {"reassoc", "contract", "nsz"}


@njit(nogil=True, cache=True, fastmath=FAST)
def follow(rows, low, high, live, D, dual, place, write, V, w1, w2, f, products, squares):  # type: ignore[no-untyped-def]
    """Make a change of the rows from ``low`` to ``high``, in place if ``write``; take their sums.

    Row i becomes row - f D: for an addition (``place`` -1) f is its product with ``dual``, for a
    removal minus what it has at ``place``; -2 is no change. ``products`` gets its products with the
    rows of V, an even number, ``squares`` those of its squares with w1 and w2.
    """
    width, T = D.size, V.shape[0]
    scratch = np.empty(rows.shape[1])
    v1, v2 = V[0], V[1]
    for i in range(low, high):
        if not live[i]:
            continue
        row = rows[i]
        if not write:
            scratch[:] = row
            row = scratch
        step = 0.0
        if place == -1:
            for j in range(width):
                step += row[j] * dual[j]
        elif place >= 0:
            step = -row[place]
        f[i] = step
        a1 = a2 = s1 = s2 = 0.0
        for j in range(width):
            x = row[j] - step * D[j]
            row[j] = x
            a1 += x * v1[j]
            a2 += x * v2[j]
            s1 += x * x * w1[j]
            s2 += x * x * w2[j]
        products[i, 0] = a1
        products[i, 1] = a2
        squares[i, 0] = s1
        squares[i, 1] = s2
        for t in range(2, T, 2):
            p, q = V[t], V[t + 1]
            a1 = a2 = 0.0
            for j in range(width):
                a1 += row[j] * p[j]
                a2 += row[j] * q[j]
            products[i, t] = a1
            products[i, t + 1] = a2


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def judge(rows, which, low, high, D, f, tau, inverse, targets, p, room, out):  # type: ignore[no-untyped-def]
    """Sum of ((r - z tau) / (p - z^2 inverse))^2 for some rows z, less f D if there is any f.

    Infinite where there is no room in p.
    """
    m = p.size
    z, left = np.empty(m), np.empty(m)
    for k in range(low, high):
        row = rows[which[k]]
        step = f[which[k]] if f.size else 0.0
        w = inverse[k]
        tight = total = 0.0
        for j in range(m):
            x = row[j] - step * D[j]
            room_left = p[j] - x * x * w
            z[j] = x
            left[j] = room_left
            tight += 1.0 if room_left <= room else 0.0
        for t in range(targets.shape[0]):
            a = tau[k, t]
            r = targets[t]
            for j in range(m):
                e = (r[j] - z[j] * a) / left[j]
                total += e * e
        out[k] = total if tight == 0.0 else np.inf


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def eliminate(rows, X, low, high, row, d, alpha, r, p, a, room, ds, w, errors):  # type: ignore[no-untyped-def]
    """Make a removal in the rows from ``low`` to ``high``, in place, and judge the next ones.

    See ``elimination.py``: rows hold N, and M behind it unless there is ``X``, the wide form.
    ``ds`` and ``w`` get what d and w become, ``errors`` the sums of ((r + N w/d) / (p + N^2/d))^2.
    """
    m, T, width = p.size, r.shape[0], row.size
    wide = X.size > 0
    Nb, tail = row[:m], row[m:]
    left = np.empty(m)
    for i in range(low, high):
        N, M = rows[i, :m], rows[i, m:width]
        f = 0.0
        if wide:
            x = X[i]
            for j in range(m):
                f += x[j] * Nb[j]
            f /= -alpha * d
        else:
            for j in range(M.size):
                f += M[j] * tail[j]
            f /= d
        for j in range(m):
            N[j] -= f * Nb[j]
        own = 0.0
        if wide:
            x = X[i]
            for j in range(m):
                own += x[j] * N[j]
            own = (1.0 - own) / alpha
        else:
            for j in range(M.size):
                M[j] -= f * tail[j]
                own += M[j] * M[j]
        ds[i] = own
        inverse = 1.0 / own
        tight = total = 0.0
        for j in range(m):
            left[j] = p[j] + N[j] * N[j] * inverse
            tight += 1.0 if left[j] <= room else 0.0
        for t in range(T):
            residual = r[t]
            coefficient = 0.0
            if wide:
                x = X[i]
                for j in range(m):
                    coefficient += x[j] * residual[j]
                coefficient /= alpha
            else:
                along = a[t]
                for j in range(M.size):
                    coefficient += M[j] * along[j]
            w[i, t] = coefficient
            step = coefficient * inverse
            for j in range(m):
                e = (residual[j] + N[j] * step) / left[j]
                total += e * e
        errors[i] = total if tight == 0.0 else np.inf
