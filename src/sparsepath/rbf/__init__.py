"""RBF networks that select inputs and basis functions, and kernel rivals."""

from sparsepath.rbf.estimators import SparseRBFRegressor

__all__ = ["SparseRBFRegressor"]
