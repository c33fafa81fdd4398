"""The compiled form of ``fused_exchanges.py``: all exchanges of a model, without arrays of them."""

import numpy as np
from numba import njit

# Sums may be reordered, so that they run in vector registers; NaN and infinity keep their meaning.
FAST = {"reassoc", "contract", "nsz"}


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def least_exchanges(rows, live, B, G, across, w, norms, q, pivots, c, r, p, alpha, most, guards):  # type: ignore[no-untyped-def]
    """The least sum of squares that an exchange of each chosen feature leaves, and for which.

    Exchanges whose bound is above ``most`` are left out.

    The letters are those of ``fused_exchanges.py``: B (n x |S|), w (|S| x T) and c (n x T)
    coefficients and products, G = q's coefficients over ``norms`` (|S| x |S|), ``across`` = B G',
    q (|S| x m) and r (T x m) over the samples; ``guards`` are the part of sums that may be
    rounding, and the room that p must leave.
    """
    rounding, room = guards
    n, k = B.shape
    m, T = p.size, r.shape[0]
    least, best = np.full(k, np.inf), np.full(k, -1)
    b2, bw = np.empty(n), np.empty((n, T))
    for i in range(n):
        total = 0.0
        for o in range(k):
            total += B[i, o] * B[i, o]
        b2[i] = total
        for t in range(T):
            total = 0.0
            for o in range(k):
                total += B[i, o] * w[o, t]
            bw[i, t] = total
    rest, left, z = np.empty((T, m)), np.empty(m), np.empty(m)
    ur, beta, off, along = np.empty(T), np.empty(T), np.empty(T), np.empty(T)
    for b in range(k):
        for j in range(m):
            left[j] = p[j] + q[b, j] * q[b, j]
        own = 0.0
        for o in range(k):
            own += G[b, o] * G[b, o]
        for t in range(T):
            step = w[b, t] / norms[b]
            a1 = a2 = a3 = 0.0
            for j in range(m):
                x = r[t, j] + step * q[b, j]
                rest[t, j] = x
                d = max(left[j], room)
                u = x / (d * d)
                a1 += u * x
                a2 += u * u
                a3 += x * x
            ur[t] = a1
            beta[t] = a1 / max(a3, 1e-300)
            off[t] = np.sqrt(max(a2 - beta[t] * a1, 0.0) + 1e-14 * a2)
            total = 0.0
            for o in range(k):
                total += G[b, o] * w[o, t]
            along[t] = total + own * w[b, t]
        for i in range(n):
            if not live[i]:
                continue
            f = B[i, b]
            e = f / norms[b]
            pivot = max(pivots[i] + e * e, 1e-300)
            s = (1.0 - rounding) * pivot - alpha
            z2 = max(s - alpha * (b2[i] + f * (2.0 * across[i, b] + f * own)), 0.0)
            size = np.sqrt(z2 + 2.0 * rounding * pivot)  # at least |z|
            bound = 0.0
            for t in range(T):
                tau = (c[i, t] + e * w[b, t] / norms[b]) / pivot
                zr = tau * pivot - alpha * (bw[i, t] + across[i, b] * w[b, t] + f * along[t])
                pull = 2.0 * (tau * zr * beta[t] + abs(tau) * size * off[t])
                bound += ur[t] - pull + tau * tau * z2 - rounding * (ur[t] + abs(pull))
            if bound > most or bound > least[b]:
                continue
            tight = total = 0.0
            inverse = 1.0 / pivot
            row = rows[i]
            for j in range(m):
                x = row[j] + e * q[b, j]
                d = left[j] - x * x * inverse
                tight += 1.0 if d <= room else 0.0
                z[j] = x
                x = (rest[0, j] - (c[i, 0] + e * w[b, 0] / norms[b]) * inverse * x) / d
                total += x * x
            for t in range(1, T):
                tau = (c[i, t] + e * w[b, t] / norms[b]) * inverse
                for j in range(m):
                    x = (rest[t, j] - tau * z[j]) / (left[j] - z[j] * z[j] * inverse)
                    total += x * x
            if tight == 0.0 and total < least[b]:
                least[b] = total
                best[b] = i
    return least, best
