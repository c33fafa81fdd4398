r"""Mistakes with each candidate added: parts of ``compiled_loss_search.py``.

Samples lie class by class, so that the own class and its rivals are the same for all samples in a
stretch. With row x of a candidate, w = 1 / pivot, tau_c = w times its product with target c, and

    over = 1 / g        a_c = over (r_own - r_c) - 2 p

of each sample, this is mistaken if for one of the rivals c

    a_c + over x (tau_c - tau_own) + 2 w x^2  >=  -blur.

So a sample brings its weight, ``over`` and a margin to every rival, and all that belongs to classes
are numbers of the stretch. One target, y = +-1, has over = y / g, a = over r - p, and is mistaken
if a + x (w x - over tau) >= -blur.

Rows as stored lack the last change, f D. It is taken off here and not written: the next product of
the rows does that on its way (``written_products``). Four rows go together, so that what belongs to
a sample is read once for all of them; where there are fewer, the last one is counted again.
"""

from numba import njit

from sparsepath.rls.leave_one_out.compiled_rows import FAST


@njit(nogil=True, cache=True, fastmath=FAST)
def lay_out_margins(given, starts, r, p):  # type: ignore[no-untyped-def]
    """The margins to all rivals of the model as it stands."""
    T, over = r.shape[0], given[2]
    if T == 1:
        for j in range(p.size):
            given[3, j] = over[j] * r[0, j] - p[j]
        return
    for own in range(T):
        line = 3
        for c in range(T):
            if c != own:
                for j in range(starts[own], starts[own + 1]):
                    given[line, j] = over[j] * (r[own, j] - r[c, j]) - 2.0 * p[j]
                line += 1


@njit(nogil=True, cache=True, fastmath=FAST)
def is_clean(given, blur):  # type: ignore[no-untyped-def]
    """Whether the model as it stands makes no mistake."""
    for line in range(3, given.shape[0]):
        for j in range(given.shape[1]):
            if given[0, j] > 0.0 and given[line, j] >= -blur:
                return False
    return True


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _of_one_target(rows, Z, f, D, S, own, blur, given, out):  # type: ignore[no-untyped-def]
    """Mistakes of one target."""
    v, y, a, last = given[0], given[2], given[3], rows.size - 1
    for first in range(0, rows.size, 4):
        A, B = rows[first], rows[min(first + 1, last)]
        C, E = rows[min(first + 2, last)], rows[min(first + 3, last)]
        f1, f2, f3, f4 = f[A], f[B], f[C], f[E]
        w1, w2, w3, w4 = 1.0 / S[A], 1.0 / S[B], 1.0 / S[C], 1.0 / S[E]
        t1, t2, t3, t4 = own[A] * w1, own[B] * w2, own[C] * w3, own[E] * w4
        l1, l2, l3, l4 = -blur[A], -blur[B], -blur[C], -blur[E]
        n1 = n2 = n3 = n4 = 0.0
        for j in range(D.size):
            x1, x2 = Z[A, j] - f1 * D[j], Z[B, j] - f2 * D[j]
            x3, x4 = Z[C, j] - f3 * D[j], Z[E, j] - f4 * D[j]
            n1 += v[j] if a[j] + x1 * (w1 * x1 - y[j] * t1) >= l1 else 0.0
            n2 += v[j] if a[j] + x2 * (w2 * x2 - y[j] * t2) >= l2 else 0.0
            n3 += v[j] if a[j] + x3 * (w3 * x3 - y[j] * t3) >= l3 else 0.0
            n4 += v[j] if a[j] + x4 * (w4 * x4 - y[j] * t4) >= l4 else 0.0
        out[A], out[B], out[C], out[E] = n1, n2, n3, n4


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _of_three_classes(rows, starts, Z, f, D, S, c, blur, given, out):  # type: ignore[no-untyped-def]
    """Mistakes of three classes, so that each has two rivals."""
    v, over, a, b, last = given[0], given[2], given[3], given[4], rows.size - 1
    for first in range(0, rows.size, 4):
        A, B = rows[first], rows[min(first + 1, last)]
        C, E = rows[min(first + 2, last)], rows[min(first + 3, last)]
        f1, f2, f3, f4 = f[A], f[B], f[C], f[E]
        w1, w2, w3, w4 = 1.0 / S[A], 1.0 / S[B], 1.0 / S[C], 1.0 / S[E]
        u1, u2, u3, u4 = 2.0 * w1, 2.0 * w2, 2.0 * w3, 2.0 * w4
        l1, l2, l3, l4 = -blur[A], -blur[B], -blur[C], -blur[E]
        n1 = n2 = n3 = n4 = 0.0
        for class_ in range(3):
            own, one, other = c[class_], c[1 if class_ == 0 else 0], c[1 if class_ == 2 else 2]
            s1, t1 = w1 * (one[A] - own[A]), w1 * (other[A] - own[A])
            s2, t2 = w2 * (one[B] - own[B]), w2 * (other[B] - own[B])
            s3, t3 = w3 * (one[C] - own[C]), w3 * (other[C] - own[C])
            s4, t4 = w4 * (one[E] - own[E]), w4 * (other[E] - own[E])
            for j in range(starts[class_], starts[class_ + 1]):
                x1, x2 = Z[A, j] - f1 * D[j], Z[B, j] - f2 * D[j]
                x3, x4 = Z[C, j] - f3 * D[j], Z[E, j] - f4 * D[j]
                p1, p2, p3, p4 = over[j] * x1, over[j] * x2, over[j] * x3, over[j] * x4
                a1, b1, a2, b2 = a[j] + p1 * s1, b[j] + p1 * t1, a[j] + p2 * s2, b[j] + p2 * t2
                a3, b3, a4, b4 = a[j] + p3 * s3, b[j] + p3 * t3, a[j] + p4 * s4, b[j] + p4 * t4
                a1, a2 = a1 if a1 > b1 else b1, a2 if a2 > b2 else b2
                a3, a4 = a3 if a3 > b3 else b3, a4 if a4 > b4 else b4
                n1 += v[j] if a1 + u1 * x1 * x1 >= l1 else 0.0
                n2 += v[j] if a2 + u2 * x2 * x2 >= l2 else 0.0
                n3 += v[j] if a3 + u3 * x3 * x3 >= l3 else 0.0
                n4 += v[j] if a4 + u4 * x4 * x4 >= l4 else 0.0
        out[A], out[B], out[C], out[E] = n1, n2, n3, n4


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _of_rivals(rows, low, high, own, Z, f, D, S, C, blur, given, most, out):  # type: ignore[no-untyped-def]
    """Add the mistakes of a class with any rivals, the last four of them at once.

    Its samples are those from ``low`` to ``high``. ``most`` is what those before are ahead; where
    there are none it stays at minus infinity.
    """
    v, over, last = given[0], given[2], C.shape[0] - 2
    early = max(last - 3, 0)
    second, third = min(early + 1, last), min(early + 2, last)
    a, b, c, d = given[3 + early], given[3 + second], given[3 + third], given[3 + last]
    for i in rows:
        w, often, total, least, mine = 1.0 / S[i], f[i], 0.0, -blur[i], C[own, i]
        for rival in range(early):
            tau = w * (C[rival + (rival >= own), i] - mine)
            for j in range(low, high):
                far = given[3 + rival, j] + over[j] * (Z[i, j] - often * D[j]) * tau
                most[j] = far if rival == 0 or far > most[j] else most[j]
        s, t = C[early + (early >= own), i] - mine, C[second + (second >= own), i] - mine
        u, q = C[third + (third >= own), i] - mine, C[last + (last >= own), i] - mine
        s, t, u, q = w * s, w * t, w * u, w * q
        for j in range(low, high):
            x = Z[i, j] - often * D[j]
            part = over[j] * x
            a1, a2, a3, a4 = a[j] + part * s, b[j] + part * t, c[j] + part * u, d[j] + part * q
            a1, a3, far = a1 if a1 > a2 else a2, a3 if a3 > a4 else a4, most[j]
            a1 = a1 if a1 > a3 else a3
            far = far if far > a1 else a1
            total += v[j] if far + 2.0 * w * x * x >= least else 0.0
        out[i] += total


@njit(nogil=True, cache=True, fastmath=FAST)
def count(rows, f, D, Z, S, C, starts, blur, given, most, out):  # type: ignore[no-untyped-def]
    """Mistakes with each of some rows added, which lack f times D."""
    T = C.shape[0]
    if T == 1:
        _of_one_target(rows, Z, f, D, S, C[0], blur, given, out)
        return
    if T == 3:
        _of_three_classes(rows, starts, Z, f, D, S, C, blur, given, out)
        return
    for i in rows:
        out[i] = 0.0
    for own in range(T):
        low, high = starts[own], starts[own + 1]
        _of_rivals(rows, low, high, own, Z, f, D, S, C, blur, given, most, out)
