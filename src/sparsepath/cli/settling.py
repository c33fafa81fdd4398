"""After the search: which size, at what error on new data, and would it come out again.

The search is run without validation first, so that Ctrl-C in what follows leaves its path whole.
Then it is repeated with parts of the data left out (the size is chosen by those errors), with the
target shuffled, and on halves of the data, each as far as it is asked for.
"""

import inspect
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sparsepath.cli.options import typed
from sparsepath.cli.preparing import beneath
from sparsepath.cli.progress import Watch
from sparsepath.errors import InputError
from sparsepath.judging import Null, Stability, permutation_null, stability
from sparsepath.judging.validation import validated
from sparsepath.path import SelectionPath
from sparsepath.running import Given

Rule = str | int | float
ERR_ALIKE = (
    "rows next to each other err alike (correlation {:.2f}). If they are of one person, place or "
    "time, the error on others is larger than told: name them by --groups COL, or use --validation "
    "time."
)


@dataclass(frozen=True)
class SelectionAsked:
    """What is wanted beyond the search."""

    rule: Rule | None = None  # how to settle on a size; None: as the method usually does
    # Folds that are left out of the whole procedure; "loo": one row or group; "time": rows in their
    # order, by those before them; None: none.
    validation: Any = "auto"
    # How often the search is repeated with the target shuffled, and on halves of the data.
    null: int = 0
    halves: int = 0

    def repeats(self, model: Any, rows: int) -> float:
        """How often the work of one search is done, in all."""
        named = {"auto": model._n_folds, "loo": rows, "time": 5, None: 0}  # of half the rows
        folds = named.get(self.validation, self.validation)
        return 1 + folds + self.null + self.halves / 2


@dataclass(frozen=True)
class SearchData:
    """What the search was given."""

    X: Any
    y: Any
    extras: Mapping[str, Any] = field(default_factory=dict)  # weights, groups
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Settled:
    """The model of the size to use, and what was found out about it.

    ``cut`` says that Ctrl-C came after the search.
    """

    model: Any
    rule: Rule
    notes: list[str]
    null: Null | None = None
    stability: Stability | None = None
    cut: bool = False


def settle(model: Any, data: SearchData, asked: SelectionAsked, quiet: bool = True) -> Settled:
    """Choose the size of a fitted model, by honest errors if they are wanted."""
    model, notes = _with_penalty(model, asked.rule)
    whole = model.path_.complete
    cut = False
    if asked.validation is not None:
        model.set_params(validation=asked.validation)
        rewrite(model, validation=asked.validation)
    if asked.validation is not None and whole:
        more, cut = _validate(model, data, asked, quiet)
        notes += more
    rule = _usual_rule(model) if asked.rule is None else asked.rule
    if getattr(model, "honest_", None) is None:
        model, more = _by_criterion(model, rule)
        notes += more
    found, halves = None, None
    if asked.null and whole and not cut:
        found, more, cut = _again("null", permutation_null, model, data, asked.null, quiet)
        notes += more
        model = model if found is None else found.applied_to(model)
    if asked.halves and whole and not cut:
        halves, more, cut = _again("stability", stability, model, data, asked.halves, quiet)
        notes += more
        halves = None if halves is None else replace(halves, feature_names=data.names)
    return Settled(model, rule, list(dict.fromkeys(notes)), found, halves, cut)


def rewrite(
    model: Any, names: Sequence[str] = (), data: Mapping[str, Any] | None = None, **parameters: Any
) -> None:
    """Write names of columns, words on the data and parameters on all paths of a model."""

    def changed(path: SelectionPath) -> SelectionPath:
        return path.replaced(
            feature_names=tuple(names) or path.feature_names,
            data={**path.data, **(data or {})},
            parameters={**path.parameters, **parameters},
        )

    every = getattr(model, "paths_", {})
    paths = {id(path): changed(path) for path in (model.path_, *every.values())}
    model.path_ = paths[id(model.path_)]
    if every:
        model._paths = {alpha: paths[id(path)] for alpha, path in every.items()}


def _validate(
    model: Any, data: SearchData, asked: SelectionAsked, quiet: bool
) -> tuple[list[str], bool]:
    """Give the model honest errors and the size chosen by them; whether Ctrl-C came."""
    rule, notes = asked.rule, list[str]()
    if "choose" not in beneath(model).get_params(deep=False) and rule is None:
        rule = len(model.selected_)  # the method has settled on it
    elif isinstance(rule, int):
        rule, notes = _settle(model.path_, rule)
    rule = _own_rule(beneath(model)) if rule is None else rule
    said: list[str] = []
    try:
        with _bar("validating", "folds", quiet) as count, caught() as said:
            given = Given(data.X, data.y, data.extras)
            path, honest = validated(model, model.path_, rule, given, told_of=count)
    except InputError as error:
        if asked.validation != "auto":
            raise
        return [f"there is no honest error: with rows left out, {error}"], False
    cut = any("validation was interrupted" in note for note in said)
    if honest is None:
        return said, cut
    model.path_, model.honest_ = path, honest
    model._take(honest.size)
    if honest.neighbours is not None:
        said.append(ERR_ALIKE.format(honest.neighbours))
    return [*notes, *said], cut


def _again(
    what: str, judge: Callable[..., Any], model: Any, data: SearchData, times: int, quiet: bool
) -> tuple[Any, list[str], bool]:
    """Repeat the search; what came of it, what there is to say, and whether Ctrl-C came."""
    unit = {"null": "shuffles", "stability": "halves"}[what]
    given = dict(data.extras)
    try:
        with _bar(what, unit, quiet) as count, caught():
            found = judge(model, data.X, data.y, times, callback=count, **given)
    except KeyboardInterrupt:
        return None, [f"interrupted: there is no --{what}."], True
    except InputError as error:
        return None, [f"there is no --{what}: when the search was repeated, {error}"], False
    done = len(found.null_errors) if what == "null" else found.n_runs
    if done == times:
        return found, [], False
    return found, [f"interrupted: --{what} is of {done} {unit} instead of {times}."], True


def _usual_rule(model: Any) -> Rule:
    """What settles on a size if nothing is asked for.

    A method that has no rule to choose a size by has settled on one itself, by what it minimises.
    """
    path: SelectionPath = model.path_
    if "choose" not in beneath(model).get_params(deep=False):
        return "own"
    if path.is_validated:
        return _own_rule(beneath(model))
    unknown = math.isnan(path.error_se(path.choose("min")))
    return "min" if unknown or path.error_kind == "training" else _own_rule(beneath(model))


def _own_rule(model: Any) -> Rule:
    """What the estimator chooses by in Python if nothing is asked for."""
    rule: Rule = inspect.signature(type(model)).parameters["choose"].default
    return rule


def _with_penalty(model: Any, rule: Rule | None) -> tuple[Any, list[str]]:
    """The model with the penalty that the rule takes, by the criterion, if there are several."""
    if len(getattr(model, "paths_", ())) < 2:
        return model, []
    rule = _usual_rule(model) if rule is None else rule
    if rule == "one_se" and not np.isfinite([p.error_se for p in model.surface_.points]).any():
        rule = "min"
    notes: list[str] = []
    if isinstance(rule, int) and not any(rule in path.sizes for path in model.paths_.values()):
        rule, notes = _settle(model.path_, rule)
    alpha, size = model.surface_.choose(rule)
    return model.at_size(size, alpha), notes


def _by_criterion(model: Any, rule: Rule) -> tuple[Any, list[str]]:
    """The model of the size that the rule asks for, by what the search minimised."""
    if rule == "own":
        return model, []
    size, notes = _settle(model.path_, rule)
    several = len(getattr(model, "paths_", ())) > 1  # then the size came with the penalty
    return (model, []) if several else (model.at_size(size), notes)


def _settle(path: SelectionPath, rule: Rule) -> tuple[int, list[str]]:
    """The size that the rule asks for; of sizes that the path has not, the next smaller one.

    The empty model is taken only if there is no other.
    """
    if rule == "one_se" and math.isnan(path.error_se(path.choose("min"))):
        if not path.complete:  # Ctrl-C came before there were any
            return path.choose("min"), [
                "there are no standard errors yet; the least error decides."
            ]
        raise InputError(
            f"--choose one_se needs standard errors, and the {path.criterion} has none; use min, a "
            "number of features, or a fraction such as 0.05."
        )
    if not isinstance(rule, int):
        return path.choose(rule), []
    if rule in path.sizes:
        return rule, []
    smaller = max((size for size in path.sizes if 0 < size < rule), default=0)
    larger = min((size for size in path.sizes if size > rule), default=0)
    size, which = (smaller, "smaller") if smaller or not larger else (larger, "larger")
    return size, [f"the path has no size {rule}; size {size}, the next {which}, is taken."]


@contextmanager
def _bar(what: str, unit: str, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """A bar, and what to call with the number done and of all."""
    with Watch(None, 1, unit=unit, backward=False, quiet=quiet, what=what) as watch:
        yield watch.count


@contextmanager
def caught() -> Iterator[list[str]]:
    """Collect what is warned of; errors that scikit-learn raises about the input are ours."""
    said: list[str] = []
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        try:
            yield said
        except ValueError as error:
            if not (isinstance(error, InputError) or _from_sklearn(error)):
                raise
            raise InputError(typed(str(error))) from error
        finally:
            wanted = (w for w in found if issubclass(w.category, UserWarning | RuntimeWarning))
            said += dict.fromkeys(typed(str(warning.message)) for warning in wanted)


def _from_sklearn(error: BaseException) -> bool:
    """Whether scikit-learn's own checks of the input raised it, not a fault in computing."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and trace.tb_frame.f_globals["__name__"].startswith("sklearn.")
