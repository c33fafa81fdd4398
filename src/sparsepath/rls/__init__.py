"""Regularised least squares: feature selection with exact cross-validation."""

from sparsepath.rls.estimators import SparseRLSClassifier, SparseRLSRegressor
from sparsepath.rls.kernels import SparseKernelRLSClassifier, SparseKernelRLSRegressor
from sparsepath.rls.ranking import SparseRankRLS
from sparsepath.rls.shortcuts import rls_state
from sparsepath.rls.stopping import PastOneSE, Patience, TimeLimit, Tolerance

__all__ = [
    "PastOneSE",
    "Patience",
    "SparseKernelRLSClassifier",
    "SparseKernelRLSRegressor",
    "SparseRLSClassifier",
    "SparseRLSRegressor",
    "SparseRankRLS",
    "TimeLimit",
    "Tolerance",
    "rls_state",
]
