"""Which few features, how many, and at what error.

Every method leaves a :class:`SelectionPath`: the best subset of each size and its error. Names are
imported when they are first used, so that ``import sparsepath`` costs next to nothing.
"""

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sparsepath.comparison import Comparison, compare
    from sparsepath.data.opening import open
    from sparsepath.data.table import TablePreparation
    from sparsepath.elm import (
        ELMClassifier,
        ELMFSClassifier,
        ELMFSRegressor,
        ELMRegressor,
        OPELMClassifier,
        OPELMRegressor,
    )
    from sparsepath.errors import FileError, InputError, PathWarning, SparsepathError
    from sparsepath.grafting import (
        GraftingClassifier,
        GraftingClassifierCV,
        GraftingPath,
        GraftingRegressor,
        GraftingRegressorCV,
        MLPGraftingClassifier,
        MLPGraftingClassifierCV,
        MLPGraftingRegressor,
        MLPGraftingRegressorCV,
        grafting_path,
    )
    from sparsepath.information import MutualInfoSelector, mutual_information
    from sparsepath.informed import MutualInfoRegressor
    from sparsepath.judging import (
        Honest,
        HonestError,
        Null,
        Planned,
        Stability,
        honest_error,
        permutation_null,
        plan,
        stability,
    )
    from sparsepath.kernel_machines import (
        LSSVMClassifier,
        LSSVMForwardRegressor,
        LSSVMRegressor,
        ReducedRankKernelRidge,
    )
    from sparsepath.lars import LarsSelector
    from sparsepath.path import SelectionPath
    from sparsepath.path_comparison import PathComparison, compare_paths
    from sparsepath.rbf import (
        SparseRBFClassifier,
        SparseRBFClassifierCV,
        SparseRBFRegressor,
        SparseRBFRegressorCV,
    )
    from sparsepath.rls import (
        SparseKernelRLSClassifier,
        SparseKernelRLSRegressor,
        SparseRankRLS,
        SparseRLSClassifier,
        SparseRLSRegressor,
        rls_path,
        rls_state,
    )
    from sparsepath.saved import SavedModel, load_model
    from sparsepath.steps import Exchange, Move, Step
    from sparsepath.table_selector import TableSelector

_HOMES = {
    "Comparison": "comparison",
    "ELMClassifier": "elm",
    "ELMFSClassifier": "elm",
    "ELMFSRegressor": "elm",
    "ELMRegressor": "elm",
    "Exchange": "steps",
    "FileError": "errors",
    "GraftingClassifier": "grafting",
    "GraftingClassifierCV": "grafting",
    "GraftingPath": "grafting",
    "GraftingRegressor": "grafting",
    "GraftingRegressorCV": "grafting",
    "Honest": "judging",
    "HonestError": "judging",
    "InputError": "errors",
    "LSSVMClassifier": "kernel_machines",
    "LSSVMForwardRegressor": "kernel_machines",
    "LSSVMRegressor": "kernel_machines",
    "LarsSelector": "lars",
    "MLPGraftingClassifier": "grafting",
    "MLPGraftingClassifierCV": "grafting",
    "MLPGraftingRegressor": "grafting",
    "MLPGraftingRegressorCV": "grafting",
    "Move": "steps",
    "MutualInfoRegressor": "informed",
    "MutualInfoSelector": "information",
    "Null": "judging",
    "OPELMClassifier": "elm",
    "OPELMRegressor": "elm",
    "PathComparison": "path_comparison",
    "PathWarning": "errors",
    "Planned": "judging",
    "ReducedRankKernelRidge": "kernel_machines",
    "SavedModel": "saved",
    "SelectionPath": "path",
    "SparseKernelRLSClassifier": "rls",
    "SparseKernelRLSRegressor": "rls",
    "SparseRBFClassifier": "rbf",
    "SparseRBFClassifierCV": "rbf",
    "SparseRBFRegressor": "rbf",
    "SparseRBFRegressorCV": "rbf",
    "SparseRLSClassifier": "rls",
    "SparseRLSRegressor": "rls",
    "SparseRankRLS": "rls",
    "SparsepathError": "errors",
    "Stability": "judging",
    "Step": "steps",
    "TablePreparation": "data.table",
    "TableSelector": "table_selector",
    "compare": "comparison",
    "compare_paths": "path_comparison",
    "grafting_path": "grafting",
    "honest_error": "judging",
    "load_model": "saved",
    "mutual_information": "information",
    "open": "data.opening",
    "permutation_null": "judging",
    "plan": "judging",
    "rls_path": "rls",
    "rls_state": "rls",
    "stability": "judging",
}

__all__ = [
    "Comparison",
    "ELMClassifier",
    "ELMFSClassifier",
    "ELMFSRegressor",
    "ELMRegressor",
    "Exchange",
    "FileError",
    "GraftingClassifier",
    "GraftingClassifierCV",
    "GraftingPath",
    "GraftingRegressor",
    "GraftingRegressorCV",
    "Honest",
    "HonestError",
    "InputError",
    "LSSVMClassifier",
    "LSSVMForwardRegressor",
    "LSSVMRegressor",
    "LarsSelector",
    "MLPGraftingClassifier",
    "MLPGraftingClassifierCV",
    "MLPGraftingRegressor",
    "MLPGraftingRegressorCV",
    "Move",
    "MutualInfoRegressor",
    "MutualInfoSelector",
    "Null",
    "OPELMClassifier",
    "OPELMRegressor",
    "PathComparison",
    "PathWarning",
    "Planned",
    "ReducedRankKernelRidge",
    "SavedModel",
    "SelectionPath",
    "SparseKernelRLSClassifier",
    "SparseKernelRLSRegressor",
    "SparseRBFClassifier",
    "SparseRBFClassifierCV",
    "SparseRBFRegressor",
    "SparseRBFRegressorCV",
    "SparseRLSClassifier",
    "SparseRLSRegressor",
    "SparseRankRLS",
    "SparsepathError",
    "Stability",
    "Step",
    "TablePreparation",
    "TableSelector",
    "compare",
    "compare_paths",
    "grafting_path",
    "honest_error",
    "load_model",
    "mutual_information",
    "open",
    "permutation_null",
    "plan",
    "rls_path",
    "rls_state",
    "stability",
]

try:
    __version__ = version("sparsepath")
except PackageNotFoundError:  # run from a source tree that is not installed
    __version__ = "0+unknown"


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    doc = value.__doc__ or ""  # python -OO has none
    if doc and (hasattr(value, "fit") or "As for ``" in doc):
        from sparsepath.texts import in_full

        in_full(value, __getattr__)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
