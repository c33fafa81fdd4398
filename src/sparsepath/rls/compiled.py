"""Compiled loops of the cache search: bring P X up to date and judge everybody, in one pass.

In all of them ``cache`` is changed in place to cache - new q', and ``out[i]`` gets this block's
share of the criterion with feature i added: r - z tau_i and p - z^2 inverse_i, z the feature's row
of the cache. Without room in p the share is infinite.
"""

from numba import njit

# Sums may be reordered, so that they run in vector registers; NaN and infinity keep their meaning.
FAST = {"reassoc", "contract", "nsz"}


@njit(nogil=True, cache=True, fastmath=FAST)
def count_wrong(cache, q, new, y, r, p, g, v, tau, inverse, room, out):  # type: ignore[no-untyped-def]
    """Weight v of the samples with y (r - z tau) >= g (p - z^2 inverse); see the module."""
    for i in range(cache.shape[0]):
        z = cache[i]
        b = new[i]
        t = tau[i]
        w = inverse[i]
        total = 0.0
        tight = 0.0
        for j in range(z.size):
            x = z[j] - b * q[j]
            z[j] = x
            left = p[j] - x * x * w
            total += v[j] if y[j] * (r[j] - x * t) >= left * g[j] else 0.0
            tight += 1.0 if left <= room else 0.0
        out[i] = total if tight == 0.0 else float("inf")


@njit(nogil=True, cache=True, fastmath=FAST)
def sum_absolute(cache, q, new, r, p, v, tau, inverse, room, out):  # type: ignore[no-untyped-def]
    """Sum of v |r - z tau| / (p - z^2 inverse); see the module."""
    for i in range(cache.shape[0]):
        z = cache[i]
        b = new[i]
        t = tau[i]
        w = inverse[i]
        total = 0.0
        tight = 0.0
        for j in range(z.size):
            x = z[j] - b * q[j]
            z[j] = x
            left = p[j] - x * x * w
            total += v[j] * abs(r[j] - x * t) / left
            tight += 1.0 if left <= room else 0.0
        out[i] = total if tight == 0.0 else float("inf")
