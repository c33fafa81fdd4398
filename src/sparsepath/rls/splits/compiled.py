"""Compiled loops over splits; the letters are those of ``elimination.py``."""

from numba import njit

# Sums may be reordered, so that they run in vector registers; NaN and infinity keep their meaning.
FAST = {"reassoc", "contract", "nsz"}


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
