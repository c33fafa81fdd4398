"""Which few features, how many, and at what error.

Every method leaves a :class:`SelectionPath`: the best subset of each size and its error. Names are
imported when they are first used, so that ``import sparsepath`` costs next to nothing.
"""

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sparsepath.comparison import Comparison as Comparison
    from sparsepath.comparison import compare as compare
    from sparsepath.data.opening import open as open
    from sparsepath.data.table import TablePreparation as TablePreparation
    from sparsepath.elm import ELMClassifier as ELMClassifier
    from sparsepath.elm import ELMFSClassifier as ELMFSClassifier
    from sparsepath.elm import ELMFSRegressor as ELMFSRegressor
    from sparsepath.elm import ELMRegressor as ELMRegressor
    from sparsepath.elm import OPELMClassifier as OPELMClassifier
    from sparsepath.elm import OPELMRegressor as OPELMRegressor
    from sparsepath.errors import FileError as FileError
    from sparsepath.errors import InputError as InputError
    from sparsepath.errors import PathWarning as PathWarning
    from sparsepath.errors import SparsepathError as SparsepathError
    from sparsepath.grafting import GraftingClassifier as GraftingClassifier
    from sparsepath.grafting import GraftingClassifierCV as GraftingClassifierCV
    from sparsepath.grafting import GraftingPath as GraftingPath
    from sparsepath.grafting import GraftingRegressor as GraftingRegressor
    from sparsepath.grafting import GraftingRegressorCV as GraftingRegressorCV
    from sparsepath.grafting import MLPGraftingClassifier as MLPGraftingClassifier
    from sparsepath.grafting import MLPGraftingClassifierCV as MLPGraftingClassifierCV
    from sparsepath.grafting import MLPGraftingRegressor as MLPGraftingRegressor
    from sparsepath.grafting import MLPGraftingRegressorCV as MLPGraftingRegressorCV
    from sparsepath.grafting import grafting_path as grafting_path
    from sparsepath.information import MutualInfoSelector as MutualInfoSelector
    from sparsepath.information import mutual_information as mutual_information
    from sparsepath.informed import MutualInfoRegressor as MutualInfoRegressor
    from sparsepath.judging import Honest as Honest
    from sparsepath.judging import HonestError as HonestError
    from sparsepath.judging import Null as Null
    from sparsepath.judging import Planned as Planned
    from sparsepath.judging import Stability as Stability
    from sparsepath.judging import honest_error as honest_error
    from sparsepath.judging import permutation_null as permutation_null
    from sparsepath.judging import plan as plan
    from sparsepath.judging import stability as stability
    from sparsepath.kernel_machines import LSSVMClassifier as LSSVMClassifier
    from sparsepath.kernel_machines import LSSVMForwardRegressor as LSSVMForwardRegressor
    from sparsepath.kernel_machines import LSSVMRegressor as LSSVMRegressor
    from sparsepath.kernel_machines import ReducedRankKernelRidge as ReducedRankKernelRidge
    from sparsepath.lars import LarsSelector as LarsSelector
    from sparsepath.path import SelectionPath as SelectionPath
    from sparsepath.path_comparison import PathComparison as PathComparison
    from sparsepath.path_comparison import compare_paths as compare_paths
    from sparsepath.rbf import SparseRBFClassifier as SparseRBFClassifier
    from sparsepath.rbf import SparseRBFClassifierCV as SparseRBFClassifierCV
    from sparsepath.rbf import SparseRBFRegressor as SparseRBFRegressor
    from sparsepath.rbf import SparseRBFRegressorCV as SparseRBFRegressorCV
    from sparsepath.rls import SparseKernelRLSClassifier as SparseKernelRLSClassifier
    from sparsepath.rls import SparseKernelRLSRegressor as SparseKernelRLSRegressor
    from sparsepath.rls import SparseRankRLS as SparseRankRLS
    from sparsepath.rls import SparseRLSClassifier as SparseRLSClassifier
    from sparsepath.rls import SparseRLSRegressor as SparseRLSRegressor
    from sparsepath.rls import rls_path as rls_path
    from sparsepath.rls import rls_state as rls_state
    from sparsepath.saved import SavedModel as SavedModel
    from sparsepath.saved import load_model as load_model
    from sparsepath.steps import Exchange as Exchange
    from sparsepath.steps import Move as Move
    from sparsepath.steps import Step as Step
    from sparsepath.table_selector import TableSelector as TableSelector

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
__all__ = sorted(_HOMES)

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
