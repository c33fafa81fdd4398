"""Regularised least squares: feature selection with exact cross-validation."""

from sparsepath.rls.estimators import SparseRLSClassifier, SparseRLSRegressor

__all__ = ["SparseRLSClassifier", "SparseRLSRegressor"]
