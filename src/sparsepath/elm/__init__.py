"""Extreme learning machines: exact leave-one-out, and selection paths for nonlinear problems."""

from sparsepath.elm.estimators import ELMClassifier, ELMRegressor, OPELMClassifier, OPELMRegressor
from sparsepath.elm.selectors import ELMFSClassifier, ELMFSRegressor

__all__ = [
    "ELMClassifier",
    "ELMFSClassifier",
    "ELMFSRegressor",
    "ELMRegressor",
    "OPELMClassifier",
    "OPELMRegressor",
]
