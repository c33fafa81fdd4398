"""The output layer in compiled pieces. Arrays and numbers only; no checks.

With up to a hundred neurons calls from Python take as long as products, and the loops here are as
fast as those of BLAS; and they run without the interpreter, so that threads do not wait for each
other. Letters are those of :mod:`sparsepath.elm.network`. U = L' is the upper factor of A, row by
row.
"""

import numpy as np
from numba import njit

from sparsepath.elm.compiled import FAST, leave_out, prefix_losses, squash

BEYOND = 3  # rows and columns of a square matrix beyond the last neuron: room for ``gram``
STRIP = 512  # samples at a time, so that the rows in use stay in cache
PAGE, LINE = 4096, 64  # bytes: of a row at a time, where eight rows are in use; of a line of cache


@njit(nogil=True, cache=True, fastmath=FAST, inline="always")
def affine(W, XT, H):  # type: ignore[no-untyped-def]
    """H <- W XT, four rows of XT at a time; beyond the last one it is counted again, by zero."""
    d, n = XT.shape
    last, zero = d - 1, W.dtype.type(0.0)
    for low in range(0, n, STRIP):
        high = min(n, low + STRIP)
        for j in range(W.shape[0]):
            h, w = H[j, low:high], W[j]
            for k in range(0, d, 4):
                x, y = XT[k, low:high], XT[min(k + 1, last), low:high]
                z, t = XT[min(k + 2, last), low:high], XT[min(k + 3, last), low:high]
                a, b = w[k], w[k + 1] if k + 1 < d else zero
                c, e = w[k + 2] if k + 2 < d else zero, w[k + 3] if k + 3 < d else zero
                if k == 0:
                    for i in range(h.size):
                        h[i] = a * x[i] + b * y[i] + c * z[i] + e * t[i]
                else:
                    for i in range(h.size):
                        h[i] += a * x[i] + b * y[i] + c * z[i] + e * t[i]


@njit(nogil=True, cache=True, fastmath=FAST, inline="always")
def gram(H, A):  # type: ignore[no-untyped-def]
    """A <- H H', upper triangle, sixteen numbers at a time.

    A has room for rows and columns beyond the last neuron (``BEYOND``): there the last one is
    counted again instead of a case of its own.
    """
    m, n = H.shape
    last, zero, strip = m - 1, H.dtype.type(0.0), PAGE // H.itemsize
    A[:] = zero
    for low in range(0, n, strip):
        high = min(n, low + strip)
        for j in range(0, m, 4):
            x, y = H[j, low:high], H[min(j + 1, last), low:high]
            z, t = H[min(j + 2, last), low:high], H[min(j + 3, last), low:high]
            for k in range(j, m, 4):
                a, b = H[k, low:high], H[min(k + 1, last), low:high]
                c, d = H[min(k + 2, last), low:high], H[min(k + 3, last), low:high]
                xa = xb = xc = xd = ya = yb = yc = yd = zero
                za = zb = zc = zd = ta = tb = tc = td = zero
                for i in range(x.size):
                    xa += x[i] * a[i]
                    xb += x[i] * b[i]
                    xc += x[i] * c[i]
                    xd += x[i] * d[i]
                    ya += y[i] * a[i]
                    yb += y[i] * b[i]
                    yc += y[i] * c[i]
                    yd += y[i] * d[i]
                    za += z[i] * a[i]
                    zb += z[i] * b[i]
                    zc += z[i] * c[i]
                    zd += z[i] * d[i]
                    ta += t[i] * a[i]
                    tb += t[i] * b[i]
                    tc += t[i] * c[i]
                    td += t[i] * d[i]
                A[j, k] += xa
                A[j, k + 1] += xb
                A[j, k + 2] += xc
                A[j, k + 3] += xd
                A[j + 1, k] += ya
                A[j + 1, k + 1] += yb
                A[j + 1, k + 2] += yc
                A[j + 1, k + 3] += yd
                A[j + 2, k] += za
                A[j + 2, k + 1] += zb
                A[j + 2, k + 2] += zc
                A[j + 2, k + 3] += zd
                A[j + 3, k] += ta
                A[j + 3, k + 1] += tb
                A[j + 3, k + 2] += tc
                A[j + 3, k + 3] += td


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy", inline="always")
def cholesky(A, m):  # type: ignore[no-untyped-def]
    """In place, upper triangle: A = U'U, row by row; False if A is not positive definite."""
    zero = A.dtype.type(0.0)
    for k in range(m):
        u = A[k, k:m]
        for p in range(0, k - 3, 4):
            a, b, c, d = A[p, k:m], A[p + 1, k:m], A[p + 2, k:m], A[p + 3, k:m]
            a0, b0, c0, d0 = a[0], b[0], c[0], d[0]
            for i in range(u.size):
                u[i] -= a0 * a[i] + b0 * b[i] + c0 * c[i] + d0 * d[i]
        for p in range(k - k % 4, k):
            a = A[p, k:m]
            a0 = a[0]
            for i in range(u.size):
                u[i] -= a0 * a[i]
        if not u[0] > zero:
            return False
        factor = A.dtype.type(1.0) / np.sqrt(u[0])
        for i in range(u.size):
            u[i] *= factor
    return True


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy", inline="always")
def forward(U, v):  # type: ignore[no-untyped-def]
    """In place: v <- U'^-1 v."""
    for j in range(v.size):
        v[j] /= U[j, j]
        for k in range(j + 1, v.size):
            v[k] -= v[j] * U[j, k]


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy", inline="always")
def backward(U, v):  # type: ignore[no-untyped-def]
    """In place: v <- U^-1 v."""
    for j in range(v.size - 1, -1, -1):
        total = v[j]
        for k in range(j + 1, v.size):
            total -= U[j, k] * v[k]
        v[j] = total / U[j, j]


@njit(nogil=True, cache=True)
def four_rows(H):  # type: ignore[no-untyped-def]
    """Room for a strip of four rows, of the precision of H.

    Rows begin where a line of the cache does and are not a multiple of 4096 bytes from each other.
    """
    wide = STRIP + 48
    space = np.empty(4 * wide + LINE, H.dtype)
    first = -(space.ctypes.data // H.itemsize) % (LINE // H.itemsize)
    return space[first : first + 4 * wide].reshape(4, wide)


# Without leave to reorder: there is nothing to reorder, and what is done with it is half as fast.
@njit(nogil=True, cache=True, fastmath={"contract", "nsz"}, error_model="numpy")
def orthogonalise(U, H, Q):  # type: ignore[no-untyped-def]
    """Q <- U'^-1 H, four rows at a time, each less four rows before at a time.

    The four are kept apart from Q until they are ready, so that they are seen not to overlap.
    """
    m, n = H.shape
    one = H.dtype.type(1.0)
    fours = m - m % 4
    apart = four_rows(H)
    for low in range(0, n, STRIP):
        high = min(n, low + STRIP)
        for k in range(0, fours, 4):
            h, e, f, g = H[k, low:high], H[k + 1, low:high], H[k + 2, low:high], H[k + 3, low:high]
            q, r, s, t = apart[0], apart[1], apart[2], apart[3]
            for i in range(h.size):
                q[i], r[i], s[i], t[i] = h[i], e[i], f[i], g[i]
            for p in range(0, k, 4):
                a, b = Q[p, low:high], Q[p + 1, low:high]
                c, d = Q[p + 2, low:high], Q[p + 3, low:high]
                qa, ra, sa, ta = U[p, k], U[p, k + 1], U[p, k + 2], U[p, k + 3]
                qb, rb, sb, tb = U[p + 1, k], U[p + 1, k + 1], U[p + 1, k + 2], U[p + 1, k + 3]
                qc, rc, sc, tc = U[p + 2, k], U[p + 2, k + 1], U[p + 2, k + 2], U[p + 2, k + 3]
                qd, rd, sd, td = U[p + 3, k], U[p + 3, k + 1], U[p + 3, k + 2], U[p + 3, k + 3]
                for i in range(a.size):
                    x, y, z, w = a[i], b[i], c[i], d[i]
                    q[i] = q[i] - qa * x - qb * y - qc * z - qd * w
                    r[i] = r[i] - ra * x - rb * y - rc * z - rd * w
                    s[i] = s[i] - sa * x - sb * y - sc * z - sd * w
                    t[i] = t[i] - ta * x - tb * y - tc * z - td * w
            qr, qs, qt = U[k, k + 1], U[k, k + 2], U[k, k + 3]
            rs, rt, st = U[k + 1, k + 2], U[k + 1, k + 3], U[k + 2, k + 3]
            qq, rr = one / U[k, k], one / U[k + 1, k + 1]
            ss, tt = one / U[k + 2, k + 2], one / U[k + 3, k + 3]
            a, b, c, d = Q[k, low:high], Q[k + 1, low:high], Q[k + 2, low:high], Q[k + 3, low:high]
            for i in range(a.size):
                x = q[i] * qq
                y = (r[i] - qr * x) * rr
                z = (s[i] - qs * x - rs * y) * ss
                a[i], b[i], c[i] = x, y, z
                d[i] = (t[i] - qt * x - rt * y - st * z) * tt
        for k in range(fours, m):
            q, h = Q[k, low:high], H[k, low:high]
            for i in range(q.size):
                q[i] = h[i]
            for p in range(k):
                a, qa = Q[p, low:high], U[p, k]
                for i in range(q.size):
                    q[i] -= qa * a[i]
            qq = one / U[k, k]
            for i in range(q.size):
                q[i] *= qq


@njit(nogil=True, cache=True, fastmath={"contract", "nsz"}, error_model="numpy")
def substitute_back(U, Q):  # type: ignore[no-untyped-def]
    """In place: Q <- U^-1 Q, as ``orthogonalise``, the last rows first."""
    m, n = Q.shape
    one = Q.dtype.type(1.0)
    odd = m % 4
    apart = four_rows(Q)
    for low in range(0, n, STRIP):
        high = min(n, low + STRIP)
        for k in range(m - 4, odd - 1, -4):
            h, e, f, g = Q[k, low:high], Q[k + 1, low:high], Q[k + 2, low:high], Q[k + 3, low:high]
            q, r, s, t = apart[0], apart[1], apart[2], apart[3]
            for i in range(h.size):
                q[i], r[i], s[i], t[i] = h[i], e[i], f[i], g[i]
            for p in range(k + 4, m, 4):
                a, b = Q[p, low:high], Q[p + 1, low:high]
                c, d = Q[p + 2, low:high], Q[p + 3, low:high]
                qa, qb, qc, qd = U[k, p], U[k, p + 1], U[k, p + 2], U[k, p + 3]
                ra, rb, rc, rd = U[k + 1, p], U[k + 1, p + 1], U[k + 1, p + 2], U[k + 1, p + 3]
                sa, sb, sc, sd = U[k + 2, p], U[k + 2, p + 1], U[k + 2, p + 2], U[k + 2, p + 3]
                ta, tb, tc, td = U[k + 3, p], U[k + 3, p + 1], U[k + 3, p + 2], U[k + 3, p + 3]
                for i in range(a.size):
                    x, y, z, w = a[i], b[i], c[i], d[i]
                    q[i] = q[i] - qa * x - qb * y - qc * z - qd * w
                    r[i] = r[i] - ra * x - rb * y - rc * z - rd * w
                    s[i] = s[i] - sa * x - sb * y - sc * z - sd * w
                    t[i] = t[i] - ta * x - tb * y - tc * z - td * w
            qr, qs, qt = U[k, k + 1], U[k, k + 2], U[k, k + 3]
            rs, rt, st = U[k + 1, k + 2], U[k + 1, k + 3], U[k + 2, k + 3]
            qq, rr = one / U[k, k], one / U[k + 1, k + 1]
            ss, tt = one / U[k + 2, k + 2], one / U[k + 3, k + 3]
            for i in range(h.size):
                x = t[i] * tt
                y = (s[i] - st * x) * ss
                z = (r[i] - rt * x - rs * y) * rr
                g[i], f[i], e[i] = x, y, z
                h[i] = (q[i] - qt * x - qs * y - qr * z) * qq
        for k in range(odd - 1, -1, -1):
            q = Q[k, low:high]
            for p in range(k + 1, m):
                a, qa = Q[p, low:high], U[k, p]
                for i in range(q.size):
                    q[i] -= qa * a[i]
            qq = one / U[k, k]
            for i in range(q.size):
                q[i] *= qq


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def left_out(U, H, Q, E, own, least):  # type: ignore[no-untyped-def]
    """Criterion and squared error, left out, of a fit with all neurons; Q is room."""
    n = H.shape[1]
    orthogonalise(U.astype(H.dtype), H, Q)
    p = np.full(n, H.dtype.type(1.0 - 1.0 / n))
    squares, wrong = leave_out(Q, E, p, own, least)
    return (wrong if own.size else squares) / n, squares / n


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def fit(XT, weights, biases, rows, ridge, scaling, H, means, U, w, E):  # type: ignore[no-untyped-def]
    """Fit the output layer; U, w (T x m), E (T x n) and H are filled.

    U and w are in double precision, all else in that of H, see :mod:`sparsepath.elm.press`. Returns
    the mean squared error, the same plus ridge |w|^2, and whether all went well.
    """
    m, n = H.shape
    number = H.dtype.type
    active = np.flatnonzero(scaling)
    affine(weights[:, active] * scaling[active].astype(H.dtype), XT[active], H)
    squash(H, biases, means)
    gram(H, U)
    for j in range(m):
        U[j, j] += ridge * n
    if not cholesky(U, m):
        return 0.0, 0.0, False
    squares = size = 0.0
    for t in range(rows.shape[0]):
        y, e, v = rows[t], E[t], w[t]
        for j in range(m):
            h = H[j]
            product = number(0.0)
            for i in range(n):
                product += h[i] * y[i]
            v[j] = product
        forward(U, v)
        backward(U, v)
        for j in range(m):
            size += v[j] * v[j]
        for i in range(n):
            e[i] = y[i]
        for j in range(m):
            h, factor = H[j], number(v[j])
            for i in range(n):
                e[i] -= factor * h[i]
        for i in range(n):
            squares += e[i] * e[i]
    return squares / n, squares / n + ridge * size, True


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def screen(XT, weights, biases, rows, own, ridge, least, subset, scalings):  # type: ignore[no-untyped-def]
    """The best of the first 1, 2, ..., m neurons at common scalings of a subset.

    Returns the criterion, the squared leave-one-out error, the place of the scaling and m; the
    first of equals. A factorisation that fails is infinitely bad.
    """
    n, m, T = XT.shape[1], biases.size, rows.shape[0]
    number = XT.dtype.type
    H, Q, means = np.empty((m, n), XT.dtype), np.empty((m, n), XT.dtype), np.empty(m, XT.dtype)
    U, z = np.empty((m + BEYOND, m + BEYOND), XT.dtype), np.empty((m, T), XT.dtype)
    squares, wrong = np.empty(m), np.empty(m)
    W, seen = weights[:, subset], XT[subset]
    first, second, place, count = np.inf, np.inf, 0, m
    for s in range(scalings.size):
        affine(W * number(scalings[s]), seen, H)
        squash(H, biases, means)
        gram(H, U)
        for j in range(m):
            U[j, j] += number(ridge * n)
        if not cholesky(U, m):
            continue
        orthogonalise(U, H, Q)
        for j in range(m):
            q = Q[j]
            for t in range(T):
                y, product = rows[t], number(0.0)
                for i in range(n):
                    product += q[i] * y[i]
                z[j, t] = product
        p = np.full(n, number(1.0 - 1.0 / n))
        prefix_losses(Q, z, rows.copy(), p, own, number(least), squares, wrong)
        for j in range(m):
            value = (wrong[j] if own.size else squares[j]) / n
            if value < first or (value == first and squares[j] / n < second):
                first, second, place, count = value, squares[j] / n, s, j + 1
    return first, second, place, count


@njit(nogil=True, cache=True, error_model="numpy")
def error(XT, weights, biases, rows, own, ridge, least, scaling, enough, H, Q):  # type: ignore[no-untyped-def]
    """Criterion and squared error, left out, of all neurons; infinite if not below ``enough``.

    The leave-one-out error is not below the training error, which comes first.
    """
    m, n = H.shape
    T = rows.shape[0]
    U, w = np.empty((m + BEYOND, m + BEYOND)), np.empty((T, m))
    means, E = np.empty(m, H.dtype), np.empty((T, n), H.dtype)
    mse, _, fine = fit(XT, weights, biases, rows, ridge, scaling, H, means, U, w, E)
    if not fine or (own.size == 0 and mse >= enough):
        return np.inf, np.inf
    return left_out(U, H, Q, E, own, least)
