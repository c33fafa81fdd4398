"""Regularised least squares: feature selection with exact cross-validation."""

from sparsepath.rls.estimators import SparseRLSClassifier, SparseRLSRegressor
from sparsepath.rls.kernels import SparseKernelRLSClassifier, SparseKernelRLSRegressor
from sparsepath.rls.shortcuts import rls_state

__all__ = [
    "SparseKernelRLSClassifier",
    "SparseKernelRLSRegressor",
    "SparseRLSClassifier",
    "SparseRLSRegressor",
    "rls_state",
]
