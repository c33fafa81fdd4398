"""Which engine serves which data."""

from sparsepath.arrays import Floats
from sparsepath.grafting.criterion import ConvexLoss, Penalty, SquaredLoss
from sparsepath.grafting.design import GraftingDesign
from sparsepath.grafting.engines import Engine, SparseEngine
from sparsepath.grafting.gram import GramEngine
from sparsepath.grafting.groups import GroupEngine

DENSE_UP_TO = 1 << 22  # numbers: sparse data this small are treated as dense columns, if they
FILLED = 0.1  # are filled to this part
TINY = 1 << 16  # or have no more numbers than this
FOR_EACH_L1 = 60  # columns whose products cost less than what they save


def make_engine(design: GraftingDesign, Y: Floats, loss: ConvexLoss) -> Engine:
    """The engine for these data and this loss, at the empty model."""
    if Y.shape[1] > 1:
        return GroupEngine(design, Y, loss)
    if design.sparse is None:
        return GramEngine(design, Y, loss)
    numbers = design.m * design.n
    filled = numbers <= DENSE_UP_TO and design.sparse.nnz >= FILLED * numbers
    return (GramEngine if filled or numbers <= TINY else SparseEngine)(design, Y, loss)


def by_squares(design: GraftingDesign, loss: ConvexLoss, penalty: Penalty, n_l1s: int) -> bool:
    """Whether a path over so many values of l1 goes by the products of all columns.

    One reading of the data for m n^2 / 2 products, at the speed of matrix products, stands against
    some three readings for each value, at the speed of memory. A column without any penalty is
    left to the rows, where its dual point is made.
    """
    if not isinstance(loss, SquaredLoss) or design.sparse is not None:
        return False
    bare = design.usable & (penalty.l1 == 0.0) & (penalty.l2 == 0.0)
    return design.n <= FOR_EACH_L1 * n_l1s and not bare.any()
