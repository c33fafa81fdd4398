"""Which few features, how many, and at what error.

Every method leaves a :class:`SelectionPath`: the best subset of each size and its error. Names are
imported when they are first used, so that ``import sparsepath`` costs next to nothing.
"""

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sparsepath.assessment import Coefficients as Coefficients
    from sparsepath.assessment import Discoveries as Discoveries
    from sparsepath.assessment import Honest as Honest
    from sparsepath.assessment import HonestError as HonestError
    from sparsepath.assessment import Null as Null
    from sparsepath.assessment import Planned as Planned
    from sparsepath.assessment import SelectivePValues as SelectivePValues
    from sparsepath.assessment import Stability as Stability
    from sparsepath.assessment import coefficients as coefficients
    from sparsepath.assessment import honest_error as honest_error
    from sparsepath.assessment import knockoffs as knockoffs
    from sparsepath.assessment import permutation_null as permutation_null
    from sparsepath.assessment import plan as plan
    from sparsepath.assessment import selective_p_values as selective_p_values
    from sparsepath.assessment import stability as stability
    from sparsepath.data.opening import open as open
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
    from sparsepath.grafting import GraftingCox as GraftingCox
    from sparsepath.grafting import GraftingCoxCV as GraftingCoxCV
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
    from sparsepath.kernel_machines import LSSVMClassifier as LSSVMClassifier
    from sparsepath.kernel_machines import LSSVMForwardRegressor as LSSVMForwardRegressor
    from sparsepath.kernel_machines import LSSVMRegressor as LSSVMRegressor
    from sparsepath.kernel_machines import ReducedRankKernelRidge as ReducedRankKernelRidge
    from sparsepath.lars.estimators import LarsSelector as LarsSelector
    from sparsepath.methods.auto_selector import AutoSelectorClassifier as AutoSelectorClassifier
    from sparsepath.methods.auto_selector import AutoSelectorRegressor as AutoSelectorRegressor
    from sparsepath.methods.comparison import Comparison as Comparison
    from sparsepath.methods.comparison import compare as compare
    from sparsepath.methods.mutual_info_regressor import MutualInfoRegressor as MutualInfoRegressor
    from sparsepath.methods.table_selector import TableSelector as TableSelector
    from sparsepath.models.saved import SavedModel as SavedModel
    from sparsepath.models.saved import load_model as load_model
    from sparsepath.path.comparison import PathComparison as PathComparison
    from sparsepath.path.comparison import compare_paths as compare_paths
    from sparsepath.path.selection_path import SelectionPath as SelectionPath
    from sparsepath.path.steps import Exchange as Exchange
    from sparsepath.path.steps import Move as Move
    from sparsepath.path.steps import Step as Step
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
    from sparsepath.tables.preparation import TablePreparation as TablePreparation

_ROOMS = {  # where the public names live
    "methods.comparison": "Comparison compare",
    "data.opening": "open",
    "tables.preparation": "TablePreparation",
    "elm": (
        "ELMClassifier ELMFSClassifier ELMFSRegressor ELMRegressor OPELMClassifier OPELMRegressor"
    ),
    "errors": "FileError InputError PathWarning SparsepathError",
    "grafting": (
        "GraftingClassifier GraftingClassifierCV GraftingCox GraftingCoxCV GraftingPath "
        "GraftingRegressor "
        "GraftingRegressorCV MLPGraftingClassifier MLPGraftingClassifierCV "
        "MLPGraftingRegressor MLPGraftingRegressorCV grafting_path"
    ),
    "information": "MutualInfoSelector mutual_information",
    "methods.mutual_info_regressor": "MutualInfoRegressor",
    "assessment": (
        "Coefficients Discoveries Honest HonestError Null Planned SelectivePValues Stability "
        "coefficients honest_error knockoffs permutation_null plan selective_p_values stability"
    ),
    "kernel_machines": (
        "LSSVMClassifier LSSVMForwardRegressor LSSVMRegressor ReducedRankKernelRidge"
    ),
    "lars.estimators": "LarsSelector",
    "methods.auto_selector": "AutoSelectorClassifier AutoSelectorRegressor",
    "path.selection_path": "SelectionPath",
    "path.comparison": "PathComparison compare_paths",
    "rbf": "SparseRBFClassifier SparseRBFClassifierCV SparseRBFRegressor SparseRBFRegressorCV",
    "rls": (
        "SparseKernelRLSClassifier SparseKernelRLSRegressor SparseRLSClassifier "
        "SparseRLSRegressor SparseRankRLS rls_path rls_state"
    ),
    "models.saved": "SavedModel load_model",
    "path.steps": "Exchange Move Step",
    "methods.table_selector": "TableSelector",
}
_HOMES = {name: room for room, names in _ROOMS.items() for name in names.split()}
__all__ = sorted({*_HOMES} - {"open"})  # a star import leaves the built-in ``open`` alone

try:
    __version__ = version("sparsepath")
except PackageNotFoundError:  # run from a source tree that is not installed
    __version__ = "0+unknown"


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
