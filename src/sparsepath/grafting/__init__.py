"""Grafting: one criterion with L0, L1 and L2 for linear models and for networks that grow."""

from sparsepath.grafting.cross_validation import GraftingClassifierCV, GraftingRegressorCV
from sparsepath.grafting.estimators import GraftingClassifier, GraftingRegressor
from sparsepath.grafting.mlp import MLPGraftingClassifier, MLPGraftingRegressor
from sparsepath.grafting.mlp_cross_validation import MLPGraftingClassifierCV, MLPGraftingRegressorCV
from sparsepath.grafting.paths import GraftingPath, grafting_path

__all__ = [
    "GraftingClassifier",
    "GraftingClassifierCV",
    "GraftingPath",
    "GraftingRegressor",
    "GraftingRegressorCV",
    "MLPGraftingClassifier",
    "MLPGraftingClassifierCV",
    "MLPGraftingRegressor",
    "MLPGraftingRegressorCV",
    "grafting_path",
]
