"""Regularised least squares: feature selection with exact cross-validation."""

from sparsepath.rls.estimators import SparseRLSClassifier, SparseRLSRegressor
from sparsepath.rls.kernels import SparseKernelRLSClassifier, SparseKernelRLSRegressor
from sparsepath.rls.ranking import SparseRankRLS
from sparsepath.rls.shortcuts import rls_state
from sparsepath.rls.stopping import MaxT, PastOneSE, Patience, TimeLimit, Tolerance
from sparsepath.rls.surface import Surface

__all__ = [
    "MaxT",
    "PastOneSE",
    "Patience",
    "SparseKernelRLSClassifier",
    "SparseKernelRLSRegressor",
    "SparseRLSClassifier",
    "SparseRLSRegressor",
    "SparseRankRLS",
    "Surface",
    "TimeLimit",
    "Tolerance",
    "rls_state",
]
