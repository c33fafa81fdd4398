r"""Losses with a row added, and what tells of them: parts of ``compiled_loss_search.py``.

**Losses that are convex in the residual** (absolute, Huber) have a lower bound. With row z of a
candidate, tau = c / pivot and the loss L_j of sample j, a function of |residual| / (1 - leverage),

    L_j(|r - tau z| / (p - z^2/pivot))  >=  L_j(|r - tau z| / p)  >=  L_j(|r| / p) - tau z u_j,

where u_j is the slope of L_j(|r| / p) in r: a leverage only grows, and a convex function lies above
its tangents. So criterion >= L - sum over targets of tau z'u, one product of a row with a vector.

**No sample is left alone.** In the augmented space of ``model.py`` let e_j be the direction of
sample j. What the chosen columns leave of it has the square p_j, and z_j is its product with what
they leave of the candidate, of which a part of square alpha is the candidate's own. So

    z_j^2  <=  p_j (pivot - alpha)        and        p_j - z_j^2/pivot  >=  p_j alpha / pivot,

and where that leaves room for all samples nobody need look for it in p.
"""

from numba import njit

from sparsepath.rls.criteria.loops import ABSOLUTE
from sparsepath.rls.leave_one_out.compiled_rows import FAST


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
def squared(z, w, c, V, p, inverse):  # type: ignore[no-untyped-def]
    """The sum of squares with row z added; ``inverse`` is space."""
    total = 0.0
    for j in range(p.size):
        inverse[j] = 1.0 / (p[j] - z[j] * z[j] * w)
    for t in range(V.shape[0]):
        tau = c[t] * w
        for j in range(p.size):
            e = (V[t, j] - z[j] * tau) * inverse[j]
            total += e * e
    return total
