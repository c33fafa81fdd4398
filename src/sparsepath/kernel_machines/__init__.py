"""Kernel machines: least-squares support vector machines, forward selection, reduced rank."""

from sparsepath.kernel_machines.forward import LSSVMForwardRegressor
from sparsepath.kernel_machines.lssvm_estimators import LSSVMClassifier, LSSVMRegressor
from sparsepath.kernel_machines.reduced_rank import ReducedRankKernelRidge

__all__ = ["LSSVMClassifier", "LSSVMForwardRegressor", "LSSVMRegressor", "ReducedRankKernelRidge"]
