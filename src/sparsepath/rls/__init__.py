"""Regularised least squares: feature selection with exact cross-validation."""

from sparsepath.rls.estimators import SparseRLSClassifier, SparseRLSRegressor
from sparsepath.rls.shortcuts import rls_state

__all__ = ["SparseRLSClassifier", "SparseRLSRegressor", "rls_state"]
