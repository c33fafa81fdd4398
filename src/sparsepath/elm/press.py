r"""PRESS and its gradient in one compiled piece, and the descent along it. No checks.

What has one number for each neuron and sample is in the precision of the features that come in,
single or double; what has one for each pair of neurons is in double precision, so that a ridge of a
millionth is kept in single precision too: products of n numbers err by about their square root in
roundings, at random, which is a tenth of such a ridge at most. Letters and formulas are those of
:mod:`sparsepath.elm.polish`.

The descent is in the logarithms of scalings and ridge, between bounds: a direction by BFGS over the
coordinates that no bound holds back, a step along it that ends at the bounds, halved or more until
the error falls (Armijo). The first step is of length one at most.
"""

import numpy as np
from numba import njit

from sparsepath.elm.compiled import FAST, leverage_left, slope_of_press, squash, weigh
from sparsepath.elm.layer import (
    BEYOND,
    STRIP,
    affine,
    backward,
    cholesky,
    forward,
    gram,
    orthogonalise,
    substitute_back,
)

ENOUGH = 1e-4  # of what the slope promises: a step that gains less is too long
LENGTHS = 6  # lengths of a step
NO_MACHINE = 1e3  # the logarithm of the error of a machine that is none


@njit(nogil=True, cache=True, fastmath=FAST, inline="always")
def mirror(A, m, out):  # type: ignore[no-untyped-def]
    """To out: the symmetric matrix of which A is the upper triangle."""
    for j in range(m):
        for k in range(j, m):
            out[j, k] = out[k, j] = A[j, k]


@njit(nogil=True, cache=True, fastmath=FAST, inline="always")
def onto(R, XT, W, g):  # type: ignore[no-untyped-def]
    """To g: for each feature k the sum over neurons and samples of W_jk R_ji X_ki."""
    d, n = XT.shape
    zero = R.dtype.type(0.0)
    g[:] = 0.0
    for low in range(0, n, STRIP):
        high = min(n, low + STRIP)
        for j in range(R.shape[0]):
            r, w = R[j, low:high], W[j]
            for k in range(0, d - 3, 4):
                x, y = XT[k, low:high], XT[k + 1, low:high]
                z, t = XT[k + 2, low:high], XT[k + 3, low:high]
                sx = sy = sz = st = zero
                for i in range(r.size):
                    sx += r[i] * x[i]
                    sy += r[i] * y[i]
                    sz += r[i] * z[i]
                    st += r[i] * t[i]
                g[k] += w[k] * sx
                g[k + 1] += w[k + 1] * sy
                g[k + 2] += w[k + 2] * sz
                g[k + 3] += w[k + 3] * st
            for k in range(d - d % 4, d):
                x = XT[k, low:high]
                sx = zero
                for i in range(r.size):
                    sx += r[i] * x[i]
                g[k] += w[k] * sx


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy", inline="always")
def press(XT, W, biases, rows, ridge, least, H, Q, means, A, U, w, E, p):  # type: ignore[no-untyped-def]
    """The squared leave-one-out error, infinite if there is none.

    Parameters
    ----------
    XT, W, biases, rows
        Features in use, d x n, neurons on them as scaled, m x d and m, centred targets, T x n: of
        one precision.
    ridge, least : float
        The ridge, and the least 1 - leverage at which a sample still counts as left out.
    H, Q, means, U, w, E, p : arrays, m x n twice, m, as A, m x T, T x n, n
        Out: what ``slope`` goes on with. All but w are of the precision of the features.
    A : array, as for ``gram``
        Room, in double precision.
    """
    m, n = H.shape
    number = XT.dtype.type
    affine(W, XT, H)
    squash(H, biases, means)
    gram(H, A)
    for j in range(m):
        A[j, j] += ridge * n
    if not cholesky(A, m):
        return np.inf
    v = np.empty(m)
    for t in range(rows.shape[0]):
        y, e = rows[t], E[t]
        for j in range(m):
            v[j] = (H[j] * y).sum()
        forward(A, v)
        backward(A, v)
        for i in range(n):
            e[i] = y[i]
        for j in range(m):
            w[j, t] = v[j]
            h, factor = H[j], number(v[j])
            for i in range(n):
                e[i] -= factor * h[i]
    for j in range(m):
        for k in range(j, m):
            U[j, k] = number(A[j, k])
    orthogonalise(U, H, Q)
    leverage_left(Q, p)
    if p.min() <= least:
        return np.inf
    squares = 0.0
    for t in range(rows.shape[0]):
        e = E[t]
        for i in range(n):
            c = e[i] / p[i]
            squares += c * c
    return squares / n


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy", inline="always")
def slope(XT, W, ridge, H, K, means, A, U, inner, w, E, p, R, g):  # type: ignore[no-untyped-def]
    """To g: the gradient of ``press`` by the logarithms of scalings and ridge, which comes last.

    Arrays are those that it has filled, K being its Q, which becomes :math:`U^{-1} Q`. A, R (as H)
    and inner (m x m) are room.
    """
    m, n = H.shape
    substitute_back(U, K)
    T, d = E.shape[0], XT.shape[0]
    u, v, root = np.empty((T, n), XT.dtype), np.zeros(n, XT.dtype), np.empty(n, XT.dtype)
    for t in range(T):
        e, o = E[t], u[t]
        for i in range(n):
            c = e[i] / p[i]
            o[i] = c / p[i]
            v[i] += c * o[i]
    for i in range(n):
        root[i] = np.sqrt(v[i])
    a = np.empty((m, T))
    for j in range(m):
        for t in range(T):
            a[j, t] = (K[j] * u[t]).sum()
    weigh(K, root, R)
    gram(R, A)
    mirror(A, m, inner)
    by_ridge = 0.0
    for j in range(m):
        by_ridge -= inner[j, j]
        for t in range(T):
            by_ridge += w[j, t] * a[j, t]
        for k in range(m):
            inner[j, k] *= 2.0
            for t in range(T):
                inner[j, k] -= w[j, t] * a[k, t]
    np.dot(inner.astype(XT.dtype), H, R)
    slope_of_press(R, K, H, means, v, w.astype(XT.dtype), u, a.astype(XT.dtype), E)
    onto(R, XT, W, g)
    for k in range(d):
        g[k] /= n
    g[d] = 2.0 * ridge * by_ridge


@njit(nogil=True, cache=True, inline="always")
def direction(B, g, at, low, high, out):  # type: ignore[no-untyped-def]
    """To out: where BFGS goes from ``at``, with coordinates that a bound holds back left alone.

    B is the inverse of the second derivatives. Returns the slope that way.
    """
    slope = 0.0
    for i in range(g.size):
        out[i] = 0.0
        if (at[i] > low[i] or g[i] < 0.0) and (at[i] < high[i] or g[i] > 0.0):
            for j in range(g.size):
                if (at[j] > low[j] or g[j] < 0.0) and (at[j] < high[j] or g[j] > 0.0):
                    out[i] -= B[i, j] * g[j]
        slope += out[i] * g[i]
    return slope


@njit(nogil=True, cache=True, inline="always")
def learn(B, s, y, is_first):  # type: ignore[no-untyped-def]
    """BFGS: in place, what a step s that changed the gradient by y says of B."""
    sy, yy = (s * y).sum(), (y * y).sum()
    if not sy > 1e-10 * yy:
        return
    if is_first:
        B[:] = 0.0
        for i in range(s.size):
            B[i, i] = sy / yy
    By = np.zeros(s.size)
    for i in range(s.size):
        for j in range(s.size):
            By[i] += B[i, j] * y[j]
    factor = (sy + (y * By).sum()) / (sy * sy)
    for i in range(s.size):
        for j in range(s.size):
            B[i, j] += factor * s[i] * s[j] - (By[i] * s[j] + s[i] * By[j]) / sy


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def go_down(  # type: ignore[no-untyped-def]
    XT, weights, biases, rows, least, at, low, high, rounds, worth, H, K, R
):
    """In place: logarithms of scalings and ridge with a smaller error; returns its logarithm.

    At most so many ``rounds``; a round that gains less than ``worth``, in the logarithm of the
    error, is the last. There is one place where an error is taken and one where its gradient is, of
    errors from which the descent goes on; so that all is one piece.
    """
    size, m, n, T = at.size, H.shape[0], H.shape[1], rows.shape[0]
    number = XT.dtype.type
    W, means = np.empty((m, size - 1), XT.dtype), np.empty(m, XT.dtype)
    A, inner = np.empty((m + BEYOND, m + BEYOND)), np.empty((m, m))
    U = np.empty((m + BEYOND, m + BEYOND), XT.dtype)
    w, E, p = np.empty((m, T)), np.empty((T, n), XT.dtype), np.empty(n, XT.dtype)
    g, new_g, step = np.zeros(size), np.empty(size), np.zeros(size)
    new, B = at.copy(), np.eye(size)
    here, length, along, round_, tried = NO_MACHINE, 1.0, 0.0, -1, 0
    while True:
        for k in range(size - 1):
            scaling = number(np.exp(new[k]))
            for j in range(m):
                W[j, k] = weights[j, k] * scaling
        ridge = np.exp(new[-1])
        value = press(XT, W, biases, rows, ridge, least, H, K, means, A, U, w, E, p)
        there, promised = NO_MACHINE, 0.0
        if value > 0.0 and value < np.inf:
            there = np.log(value)
        for i in range(size):
            promised += g[i] * (new[i] - at[i])
        if there == NO_MACHINE and round_ < 0:
            return here
        if there < NO_MACHINE and (round_ < 0 or there <= here + ENOUGH * min(promised, 0.0)):
            gain = here - there
            for i in range(size):
                step[i] = new[i] - at[i]
                at[i] = new[i]
            here = there
            round_ += 1
            if round_ == rounds or gain < worth:
                return here
            slope(XT, W, ridge, H, K, means, A, U, inner, w, E, p, R, new_g)
            new_g /= value
            if round_ > 0:
                learn(B, step, new_g - g, round_ == 1)
            g[:] = new_g
            along = direction(B, g, at, low, high, step)
            if not along < 0.0:
                return here
            length, tried = 1.0, 0
            if round_ == 0:
                length = 1.0 / max(1.0, np.sqrt((step * step).sum()))
        else:
            tried += 1
            if tried == LENGTHS:
                return here
            # Where the parabola through both errors and the slope has its least.
            fall = there - here - length * along
            best = 0.5 * length * length * -along / fall if fall > 0.0 else 0.5 * length
            length = min(max(best, 0.1 * length), 0.5 * length)
        for i in range(size):
            new[i] = min(max(at[i] + length * step[i], low[i]), high[i])
