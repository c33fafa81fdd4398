"""RBF networks that select inputs and basis functions."""

from sparsepath.rbf.estimators import SparseRBFClassifier, SparseRBFRegressor
from sparsepath.rbf.search import SparseRBFClassifierCV, SparseRBFRegressorCV

__all__ = [
    "SparseRBFClassifier",
    "SparseRBFClassifierCV",
    "SparseRBFRegressor",
    "SparseRBFRegressorCV",
]
