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

_ROOMS = {  # where the public names live
    "comparison": "Comparison compare",
    "data.opening": "open",
    "data.table": "TablePreparation",
    "elm": (
        "ELMClassifier ELMFSClassifier ELMFSRegressor ELMRegressor OPELMClassifier OPELMRegressor"
    ),
    "errors": "FileError InputError PathWarning SparsepathError",
    "grafting": (
        "GraftingClassifier GraftingClassifierCV GraftingPath GraftingRegressor "
        "GraftingRegressorCV MLPGraftingClassifier MLPGraftingClassifierCV "
        "MLPGraftingRegressor MLPGraftingRegressorCV grafting_path"
    ),
    "information": "MutualInfoSelector mutual_information",
    "informed": "MutualInfoRegressor",
    "judging": (
        "Honest HonestError Null Planned Stability honest_error permutation_null plan stability"
    ),
    "kernel_machines": (
        "LSSVMClassifier LSSVMForwardRegressor LSSVMRegressor ReducedRankKernelRidge"
    ),
    "lars": "LarsSelector",
    "path": "SelectionPath",
    "path_comparison": "PathComparison compare_paths",
    "rbf": "SparseRBFClassifier SparseRBFClassifierCV SparseRBFRegressor SparseRBFRegressorCV",
    "rls": (
        "SparseKernelRLSClassifier SparseKernelRLSRegressor SparseRLSClassifier "
        "SparseRLSRegressor SparseRankRLS rls_path rls_state"
    ),
    "saved": "SavedModel load_model",
    "steps": "Exchange Move Step",
    "table_selector": "TableSelector",
}
_HOMES = {name: room for room, names in _ROOMS.items() for name in names.split()}

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
