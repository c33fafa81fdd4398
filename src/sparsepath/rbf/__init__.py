"""RBF networks that select inputs and basis functions, and kernel rivals."""

from sparsepath.rbf.estimators import SparseRBFClassifier, SparseRBFRegressor
from sparsepath.rbf.forward import LSSVMForwardRegressor
from sparsepath.rbf.lssvm_estimators import LSSVMClassifier, LSSVMRegressor
from sparsepath.rbf.reduced_rank_estimator import ReducedRankKernelRidge
from sparsepath.rbf.search import SparseRBFClassifierCV, SparseRBFRegressorCV

__all__ = [
    "LSSVMClassifier",
    "LSSVMForwardRegressor",
    "LSSVMRegressor",
    "ReducedRankKernelRidge",
    "SparseRBFClassifier",
    "SparseRBFClassifierCV",
    "SparseRBFRegressor",
    "SparseRBFRegressorCV",
]
