r"""How little of a row tells its criterion by a loss: parts of ``compiled_loss_search.py``.

**Losses that are convex in the residual** (absolute, Huber) have a lower bound. With row z of a
candidate, tau = c / pivot and the loss L_j of sample j, a function of |residual| / (1 - leverage),

    L_j(|r - tau z| / (p - z^2/pivot))  >=  L_j(|r - tau z| / p)  >=  L_j(|r| / p) - tau z u_j,

where u_j is the slope of L_j(|r| / p) in r: a leverage only grows, and a convex function lies above
its tangents. So criterion >= L - sum over targets of tau z'u, one product of a row with a vector.

**Losses that count** have none, but few samples can change sides. One target: sample j is mistaken
if a_j + z_j (z_j / pivot - y_j tau) >= -blur, with a_j = y_j r_j - p_j of the model as it stands.
With Z >= |z_j| for all j, and y >= |y_j|, samples with

    |a_j|  >  Z (Z / pivot + y |tau|) + blur

stay on the side of the sign of a_j. Several classes: with a_j the largest of what the other classes
are ahead of the own one, the same holds with 2 Z / pivot and, in place of |tau|, the largest
difference of two tau. So samples are sorted by |a_j|, coarsely, and a candidate looks at the first
of them, as far as it may turn them. Z is taken when a row is written; a change f D raises it by no
more than |f| max |D|.

**No sample is left alone.** In the augmented space of ``model.py`` let e_j be the direction of
sample j. What the chosen columns leave of it has the square p_j, and z_j is its product with what
they leave of the candidate, of which a part of square alpha is the candidate's own. So

    z_j^2  <=  p_j (pivot - alpha)        and        p_j - z_j^2/pivot  >=  p_j alpha / pivot,

and where that leaves room for all samples nobody need look for it in p.
"""

import numpy as np
from numba import njit

from sparsepath.rls.criteria.loops import ABSOLUTE
from sparsepath.rls.leave_one_out.compiled_rows import FAST

BUCKETS = 256  # sizes of margins that are told apart


@njit(nogil=True, cache=True)
def largest(row):  # type: ignore[no-untyped-def]
    """The largest absolute value; of numbers without a sign, the bits of the larger are larger."""
    bits, most, out = row.view(np.int64), np.int64(0), np.empty(1, dtype=np.int64)
    for j in range(bits.size):
        size = bits[j] & 0x7FFFFFFFFFFFFFFF
        most = size if size > most else most
    out[0] = most
    return out.view(np.float64)[0]


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def slopes(kind, given, delta, room, u):  # type: ignore[no-untyped-def]
    """Fill u; return the criterion of the model as it stands."""
    v, p, total = given[0], given[1], 0.0
    for t in range(u.shape[0]):
        r = given[2 + t] if kind == ABSOLUTE else given[3 + t]
        for j in range(p.size):
            inverse = 1.0 / max(p[j], room)
            if kind == ABSOLUTE:
                slope = v[j] * inverse
                total += slope * abs(r[j])
            else:
                e = given[2, j] * abs(r[j]) * inverse
                near = min(e, delta)
                total += v[j] * near * (e - 0.5 * near)
                slope = v[j] * near * given[2, j] * inverse
            u[t, j] = slope if r[j] > 0.0 else -slope
    return total


@njit(nogil=True, cache=True, fastmath=FAST)
def sort_margins(a, v, limit, order, counts, beyond, bucket):  # type: ignore[no-untyped-def]
    """Samples with a margin below ``limit`` into ``order``, the smallest first, coarsely.

    The first ``counts[b]`` of them are those of bucket b and below; ``beyond[b]`` is the weight of
    all others that are mistaken. ``bucket`` is space.
    """
    scale, count, weight = BUCKETS / limit, 0, 0.0
    for j in range(a.size):
        place = abs(a[j]) * scale
        bucket[j] = np.int32(place if place < BUCKETS else BUCKETS)
        weight += v[j] if a[j] > 0.0 else 0.0
    for b in range(BUCKETS + 1):
        counts[b] = 0
    for j in range(a.size):
        counts[bucket[j]] += 1
    for b in range(BUCKETS + 1):
        here, counts[b] = counts[b], count
        count += here
    for j in range(a.size):
        b = bucket[j]
        order[counts[b]] = j
        counts[b] += 1
    count = 0
    for b in range(BUCKETS):
        while count < counts[b]:
            j = order[count]
            weight -= v[j] if a[j] > 0.0 else 0.0
            count += 1
        beyond[b] = weight


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def count_one(rows, Z, f, D, S, C, blur, given, out):  # type: ignore[no-untyped-def]
    """Mistakes of one target with each of some rows, which lose f times D."""
    v, a, y, c = given[0], given[2], given[3], C[0]
    for i in rows:
        w, often, least, total = 1.0 / S[i], f[i], -blur[i], 0.0
        tau = c[i] * w
        for j in range(D.size):
            x = Z[i, j] - often * D[j]
            Z[i, j] = x
            total += v[j] if a[j] + x * (w * x - y[j] * tau) >= least else 0.0
        out[i] = total


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def count_three(rows, Z, f, D, S, C, blur, given, out):  # type: ignore[no-untyped-def]
    """The same of three classes."""
    v, over, a0, a1, a2 = given[0], given[2], given[3], given[4], given[5]
    own0, own1, own2 = given[6], given[7], given[8]
    for i in rows:
        w, often, least, total = 1.0 / S[i], f[i], -blur[i], 0.0
        t0, t1, t2 = C[0, i] * w, C[1, i] * w, C[2, i] * w
        for j in range(D.size):
            x = Z[i, j] - often * D[j]
            Z[i, j] = x
            part, own = over[j] * x, own0[j] * t0 + own1[j] * t1 + own2[j] * t2
            far, second, third = a0[j] + part * t0, a1[j] + part * t1, a2[j] + part * t2
            far = far if far > second else second
            far = far if far > third else third
            total += v[j] if far + (2.0 * w * x * x - part * own) >= least else 0.0
        out[i] = total


@njit(nogil=True, cache=True, fastmath=FAST)
def count_among(x, w, taus, blur, given, space):  # type: ignore[no-untyped-def]
    """The weight of mistakes among some samples, of which x is that of a row to be added.

    ``given`` is what they ask for.
    """
    v, T, total, size = given[0], taus.size, 0.0, x.size
    if T == 1:
        a, y, tau = given[2], given[3], taus[0]
        for j in range(size):
            total += v[j] if a[j] + x[j] * (w * x[j] - y[j] * tau) >= -blur else 0.0
        return total
    over = given[2]
    if T == 3:
        a0, a1, a2, t0, t1, t2 = given[3], given[4], given[5], taus[0], taus[1], taus[2]
        own0, own1, own2 = given[6], given[7], given[8]
        for j in range(size):
            part, own = over[j] * x[j], own0[j] * t0 + own1[j] * t1 + own2[j] * t2
            far, second, third = a0[j] + part * t0, a1[j] + part * t1, a2[j] + part * t2
            far = far if far > second else second
            far = far if far > third else third
            total += v[j] if far + (2.0 * w * x[j] * x[j] - part * own) >= -blur else 0.0
        return total
    most, mine = space[0], space[1]
    for j in range(size):
        most[j], mine[j] = -np.inf, 0.0
    for c in range(T):
        a, own, tau = given[3 + c], given[3 + T + c], taus[c]
        for j in range(size):
            far = a[j] + over[j] * x[j] * tau
            most[j] = far if far > most[j] else most[j]
        for j in range(size):
            mine[j] += own[j] * tau
    for j in range(size):
        far = most[j] + x[j] * (2.0 * w * x[j] - over[j] * mine[j])
        total += v[j] if far >= -blur else 0.0
    return total


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def absolutes(z, w, tau, v, p, r):  # type: ignore[no-untyped-def]
    """The absolute loss of one target, with row z added."""
    total = 0.0
    for j in range(z.size):
        total += v[j] * abs(r[j] - z[j] * tau) / (p[j] - z[j] * z[j] * w)
    return total


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def rounded(z, w, tau, v, p, scale, r, delta):  # type: ignore[no-untyped-def]
    """The loss of Huber of one target, with row z added."""
    total = 0.0
    for j in range(z.size):
        e = scale[j] * abs(r[j] - z[j] * tau) / (p[j] - z[j] * z[j] * w)
        near = e if e < delta else delta
        total += v[j] * near * (e - 0.5 * near)
    return total


@njit(nogil=True, cache=True, fastmath=FAST)
def is_tight(z, w, p, room):  # type: ignore[no-untyped-def]
    """Whether a sample has no room in p with row z added."""
    tight = 0.0
    for j in range(z.size):
        tight += 1.0 if p[j] - z[j] * z[j] * w <= room else 0.0
    return tight > 0.0


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def squared(z, pivot, c, V, p):  # type: ignore[no-untyped-def]
    """The sum of squares with row z added."""
    total = 0.0
    for t in range(V.shape[0]):
        r, tau = V[t], c[t] / pivot
        for j in range(p.size):
            e = (r[j] - z[j] * tau) / (p[j] - z[j] * z[j] / pivot)
            total += e * e
    return total
