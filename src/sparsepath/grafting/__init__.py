"""Grafting: one criterion with L0, L1 and L2 for linear models and for networks that grow."""

from sparsepath.grafting.criterion import ConvexLoss
from sparsepath.grafting.cross_validation import GraftingClassifierCV, GraftingRegressorCV
from sparsepath.grafting.estimators import GraftingClassifier, GraftingRegressor
from sparsepath.grafting.networks.cross_validation import (
    MLPGraftingClassifierCV,
    MLPGraftingRegressorCV,
)
from sparsepath.grafting.networks.estimators import MLPGraftingClassifier, MLPGraftingRegressor
from sparsepath.grafting.paths import GraftingPath, grafting_path
from sparsepath.grafting.survival import GraftingCox, GraftingCoxCV

__all__ = [
    "ConvexLoss",
    "GraftingClassifier",
    "GraftingClassifierCV",
    "GraftingCox",
    "GraftingCoxCV",
    "GraftingPath",
    "GraftingRegressor",
    "GraftingRegressorCV",
    "MLPGraftingClassifier",
    "MLPGraftingClassifierCV",
    "MLPGraftingRegressor",
    "MLPGraftingRegressorCV",
    "grafting_path",
]
