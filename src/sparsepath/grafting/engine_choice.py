"""Which engine serves which data."""

from sparsepath.arrays import Floats
from sparsepath.grafting.criterion import ConvexLoss
from sparsepath.grafting.design import GraftingDesign
from sparsepath.grafting.engines import Engine, SparseEngine
from sparsepath.grafting.gram import GramEngine
from sparsepath.grafting.groups import GroupEngine

DENSE_UP_TO = 1 << 22  # numbers: sparse data this small are treated as dense columns, if they
FILLED = 0.1  # are filled to this part
TINY = 1 << 16  # or have no more numbers than this


def make_engine(design: GraftingDesign, Y: Floats, loss: ConvexLoss) -> Engine:
    """The engine for these data and this loss, at the empty model."""
    if Y.shape[1] > 1:
        return GroupEngine(design, Y, loss)
    if design.sparse is None:
        return GramEngine(design, Y, loss)
    numbers = design.m * design.n
    filled = numbers <= DENSE_UP_TO and design.sparse.nnz >= FILLED * numbers
    return (GramEngine if filled or numbers <= TINY else SparseEngine)(design, Y, loss)
