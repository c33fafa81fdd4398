"""Regularised least squares: greedy, floating and backward selection with exact cross-validation."""

from sparsepath.rls.estimators import SparseRLSClassifier, SparseRLSRegressor

__all__ = ["SparseRLSClassifier", "SparseRLSRegressor"]
