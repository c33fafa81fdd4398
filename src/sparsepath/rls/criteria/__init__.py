"""Criteria of the search: losses of cross-validation residuals."""
