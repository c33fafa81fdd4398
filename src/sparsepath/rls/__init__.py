"""Regularised least squares: feature selection with exact cross-validation."""

from sparsepath.rls.criteria.counts import ZeroOneByIndex
from sparsepath.rls.criteria.losses import ResidualLoss
from sparsepath.rls.criteria.residuals import Huber, LogCosh
from sparsepath.rls.estimators import SparseRLSClassifier, SparseRLSRegressor
from sparsepath.rls.kernels import SparseKernelRLSClassifier, SparseKernelRLSRegressor
from sparsepath.rls.paths import rls_path
from sparsepath.rls.ranking import SparseRankRLS
from sparsepath.rls.state import RLSState, rls_state
from sparsepath.rls.stopping import MaxT, PastOneSE, Patience, TimeLimit, Tolerance
from sparsepath.rls.surface import Surface
from sparsepath.rls.update import Update

__all__ = [
    "Huber",
    "LogCosh",
    "MaxT",
    "PastOneSE",
    "Patience",
    "RLSState",
    "ResidualLoss",
    "SparseKernelRLSClassifier",
    "SparseKernelRLSRegressor",
    "SparseRLSClassifier",
    "SparseRLSRegressor",
    "SparseRankRLS",
    "Surface",
    "TimeLimit",
    "Tolerance",
    "Update",
    "ZeroOneByIndex",
    "rls_path",
    "rls_state",
]
