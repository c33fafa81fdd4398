"""Equal rows: copies of one sample, or samples that happen to be equal.

A copy on the other side of a split gives the answer away. But where there are few values to have,
as in answers of yes and no, different samples are equal by chance, and whoever leaves out all of
them at once leaves out all that is known of such a case. Which of the two it is, is told by how
many pairs of rows would be equal if the columns, y among them, had nothing to do with each other:
with C different rows, of which a_j pairs agree in column j,

    expected = n (n - 1) / 2  times the product over j of  a_j / (C (C - 1) / 2).

If that is a hundredth of the pairs that are equal, or less, they are copies. Columns that do have
to do with each other make chance likelier than this says; so where no column has values enough to
tell most of the different rows apart, rows that occur more than three times on average are equal by
chance too.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

RARE = 0.01  # part of the equal pairs that chance may make, for them to be copies
MOST = 3  # times that a row of coarse columns may be there, on average, for it to be copied


def by_chance(A: Any, t: NDArray[np.intp], first: NDArray[np.intp], n: int, pairs: float) -> bool:
    """Whether rows are equal by chance.

    A and t are features and targets of all n rows, n x p and n x T, ``first`` has one row of each
    kind, and so many ``pairs`` of rows are equal.
    """
    C, expected, widest = len(first), n * (n - 1) / 2, 0
    for column in _columns(A, t, first):
        counts = np.unique(column, return_counts=True)[1]
        expected *= float((counts * (counts - 1.0)).sum()) / (C * (C - 1.0))
        widest = max(widest, len(counts))
        if expected <= RARE * pairs and (2 * widest > C or n <= MOST * C):
            return False
    return True


def _columns(A: Any, t: NDArray[np.intp], first: NDArray[np.intp]) -> Iterator[NDArray[np.generic]]:
    yield from t[first].T
    some = A[first]
    if hasattr(some, "tocsc"):
        some = some.tocsc()
        for j in range(some.shape[1]):
            yield np.asarray(some[:, [j]].todense()).ravel()
    else:
        yield from some.T
