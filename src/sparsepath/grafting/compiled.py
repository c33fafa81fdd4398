"""Compiled loops of the sub-problems. Plain loops over arrays: no checks, no allocation.

All of them change a step D (and what follows from it) in place by coordinate descent on

    q'D + D'H D / 2 + sum_j l2_j D_j^2 + l1_j |w_j + D_j|

where q holds the gradient at w, that of the l2 term included. A coordinate's size of change is
measured in units of the gradient, so that ``tol`` compares with violations of optimality.
"""

from numba import njit

# Sums may be reordered, so that they run in vector registers; NaN and infinity keep their meaning.
FAST = {"reassoc", "contract", "nsz"}
ROUNDS = 20  # passes over the moving coordinates between passes over all


@njit(nogil=True, cache=True, fastmath=FAST)
def descend_gram(H, r, w, D, l1, l2, least, moving, tol, max_passes):  # type: ignore[no-untyped-def]
    """Descend in place with the matrix H at hand; r = q + H D is kept up to date.

    Coordinates whose curvature is at most ``least`` stay where they are. Returns the passes made.
    """
    k = w.size
    passes = 0
    while passes < max_passes:
        largest = 0.0
        n_moving = 0
        for j in range(k):
            change = _move(H, r, w, D, l1, l2, least, j)
            if change > largest:
                largest = change
            if change > 0.0 or w[j] + D[j] != 0.0:
                moving[n_moving] = j
                n_moving += 1
        passes += 1
        if largest <= tol:
            break
        for _ in range(ROUNDS):
            largest = 0.0
            for i in range(n_moving):
                change = _move(H, r, w, D, l1, l2, least, moving[i])
                if change > largest:
                    largest = change
            passes += 1
            if largest <= tol or passes >= max_passes:
                break
    return passes


@njit(nogil=True, cache=True, fastmath=FAST, inline="always")
def _move(H, r, w, D, l1, l2, least, j):  # type: ignore[no-untyped-def]
    a = H[j, j] + 2.0 * l2[j]
    if a <= least[j]:
        return 0.0
    old = w[j] + D[j]
    z = a * old - r[j] - 2.0 * l2[j] * D[j]
    if z > l1[j]:
        new = (z - l1[j]) / a
    elif z < -l1[j]:
        new = (z + l1[j]) / a
    else:
        new = 0.0
    d = new - old
    if d == 0.0:
        return 0.0
    if new == 0.0:
        D[j] = -w[j]
    else:
        D[j] += d
    row = H[j]
    for i in range(r.size):
        r[i] += d * row[i]
    return abs(d) * a


@njit(nogil=True, cache=True, fastmath=FAST)
def sparse_moments(indptr, indices, data, scales, features, g, h, q, c, a):  # type: ignore[no-untyped-def]
    """Fill z_j'g, z_j'h and z_j'(h z_j) for the features; scipy's CSC arrays, z_j = x_j / scale_j."""
    for t in range(features.size):
        j = features[t]
        sum_g = 0.0
        sum_h = 0.0
        sum_a = 0.0
        for e in range(indptr[j], indptr[j + 1]):
            i = indices[e]
            x = data[e]
            sum_g += x * g[i]
            sum_h += x * h[i]
            sum_a += x * x * h[i]
        scale = 1.0 / scales[j]
        q[t] = sum_g * scale
        c[t] = sum_h * scale
        a[t] = sum_a * scale * scale


@njit(nogil=True, cache=True, fastmath=FAST)
def descend_sparse(  # type: ignore[no-untyped-def]
    indptr, indices, data, scales, features, h, total, q, c, a, w, D, l1, l2, v, shift, moving, tol, max_passes
):
    """Descend in place on sparse columns; v = h * (Z D), and the intercept follows every move.

    The intercept's step is -(beta + c'D) / total; ``shift[0]`` holds it. With ``total`` = 0 there is
    none. ``a`` holds the curvatures without the intercept. Returns the passes made.
    """
    k = features.size
    for t in range(k):
        moving[t] = t
    n_moving = k
    passes = 0
    everybody = True
    while passes < max_passes:
        largest = 0.0
        kept = 0
        for place in range(n_moving):
            t = moving[place] if not everybody else place
            j = features[t]
            scale = 1.0 / scales[j]
            curvature = a[t] + 2.0 * l2[t]
            if total > 0.0:
                curvature -= c[t] * c[t] / total
            if curvature <= 1e-12 * a[t]:
                continue
            start = indptr[j]
            stop = indptr[j + 1]
            dot = 0.0
            for e in range(start, stop):
                dot += data[e] * v[indices[e]]
            old = w[t] + D[t]
            slope = q[t] + dot * scale + shift[0] * c[t] + 2.0 * l2[t] * D[t]
            z = curvature * old - slope
            if z > l1[t]:
                new = (z - l1[t]) / curvature
            elif z < -l1[t]:
                new = (z + l1[t]) / curvature
            else:
                new = 0.0
            d = new - old
            if d != 0.0:
                if new == 0.0:
                    D[t] = -w[t]
                else:
                    D[t] += d
                step = d * scale
                for e in range(start, stop):
                    i = indices[e]
                    v[i] += step * data[e] * h[i]
                if total > 0.0:
                    shift[0] -= d * c[t] / total
                change = abs(d) * curvature
                if change > largest:
                    largest = change
            if new != 0.0 or d != 0.0:
                moving[kept] = t
                kept += 1
        passes += 1
        if everybody:
            if largest <= tol:
                break
            n_moving = kept
            everybody = False
        elif largest <= tol or passes % ROUNDS == 0:
            n_moving = k
            everybody = True
    return passes


@njit(nogil=True, cache=True, fastmath=FAST)
def sparse_outputs(indptr, indices, data, scales, features, D, out):  # type: ignore[no-untyped-def]
    """Add Z D to ``out`` in place."""
    for t in range(features.size):
        if D[t] != 0.0:
            j = features[t]
            step = D[t] / scales[j]
            for e in range(indptr[j], indptr[j + 1]):
                out[indices[e]] += step * data[e]


@njit(nogil=True, cache=True, fastmath=FAST)
def descend_groups(  # type: ignore[no-untyped-def]
    A, P, s, q, W, D, l1, l2, bounds, R, beta, shift, intercept_bound, work, tol, max_passes
):
    """Descend in place over features as groups of K weights; the Hessian is that of the softmax.

    A is m x k in Fortran order; P the class shares; R = s (P u - P (P'u)) for u = Z D + shift, kept
    up to date. ``bounds`` are curvatures that no direction of a group exceeds. Returns the passes.
    """
    m, k = A.shape
    K = P.shape[1]
    passes = 0
    while passes < max_passes:
        largest = 0.0
        for j in range(-1 if intercept_bound > 0.0 else 0, k):
            slope = work[0]
            d = work[1]
            for c in range(K):
                slope[c] = 0.0
            if j < 0:
                for i in range(m):
                    for c in range(K):
                        slope[c] += R[i, c]
                for c in range(K):
                    d[c] = -(beta[c] + slope[c]) / intercept_bound
                    shift[c] += d[c]
                    largest = max(largest, abs(d[c]) * intercept_bound)
            else:
                curvature = bounds[j] + 2.0 * l2[j]
                if curvature <= 0.0:
                    continue
                for i in range(m):
                    x = A[i, j]
                    for c in range(K):
                        slope[c] += x * R[i, c]
                size = 0.0
                for c in range(K):
                    old = W[j, c] + D[j, c]
                    d[c] = curvature * old - (slope[c] + q[j, c] + 2.0 * l2[j] * D[j, c])
                    size += d[c] * d[c]
                size = size**0.5
                shrink = 0.0 if size <= l1[j] else (1.0 - l1[j] / size) / curvature
                change = 0.0
                for c in range(K):
                    new = d[c] * shrink
                    d[c] = new - (W[j, c] + D[j, c])
                    change = max(change, abs(d[c]) * curvature)
                    D[j, c] = new - W[j, c] if shrink > 0.0 else -W[j, c]
                if change == 0.0:
                    continue
                largest = max(largest, change)
            for i in range(m):
                x = s[i] if j < 0 else s[i] * A[i, j]
                mean = 0.0
                for c in range(K):
                    mean += P[i, c] * d[c]
                for c in range(K):
                    R[i, c] += x * P[i, c] * (d[c] - mean)
        passes += 1
        if largest <= tol:
            break
    return passes
