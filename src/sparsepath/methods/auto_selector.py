"""The method chosen with the size: several methods on the same folds, one honest error.

Linear methods are tried, and nonlinear ones that the time budget allows, by the estimates of the
estimators (``expected_seconds``), and whose search on all rows promises a clear gain. All are
repeated on the same outer folds and judged there as the penalties of ``alpha="auto"`` are
(``assessment/out_of_sample.py``): every method is a way of doing the procedure, every penalty of
greedy RLS one of its own. Classifiers are judged by the log loss, of calibrated scores where
these are no log odds: it finds a signal that error rates of few rows do not show.

With ``choose="one_se"`` the first way is used whose least error is within one standard error of the
least of all (paired), and linear models come first; with "min" the one with the least error. The
error is corrected for both choices, of the way and of the size, and if it is then not clearly below
that of the empty model, no feature is selected.
"""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import has_fit_parameter

from sparsepath.assessment.held_out import HeldOutLosses
from sparsepath.assessment.metrics import Metric
from sparsepath.assessment.out_of_sample import (
    SingleProcedure,
    Ways,
    held_out_losses,
    metric_of,
    preferred_way,
)
from sparsepath.assessment.planning import duration
from sparsepath.assessment.repetitions import RepetitionResult, fit_clone, quiet_copy
from sparsepath.assessment.validation import is_validated, resolve_validation
from sparsepath.base import Found, Given, Run, fitting, open_fit
from sparsepath.base.parameters import count, positive
from sparsepath.base.run import parameters_of, seed_of
from sparsepath.base.selector import SizedSelector
from sparsepath.base.targets import PathClassifierMixin, PathRegressorMixin
from sparsepath.data.classes import USUAL_SLOPE
from sparsepath.data.folds import Rows
from sparsepath.data.names import NumberedNames
from sparsepath.errors import InputError, warn_user
from sparsepath.methods.comparison import Comparison, Contestant, contestant_of
from sparsepath.methods.final_model import Boosted, check_final, honest_boosting
from sparsepath.methods.table import METHODS
from sparsepath.path.selection_path import SelectionPath
from sparsepath.system.arrays import Floats, Vector
from sparsepath.system.interrupts import Interruptible
from sparsepath.system.number_format import brief

GREEDY = "greedy-rls"  # always tried
LINEAR, NONLINEAR = (GREEDY, "grafting"), ("elm-fs", "rbf", "mlp-grafting")  # by preference
FEWEST_ROWS = 20  # for methods that have folds of their own
# The criterion of a nonlinear search is optimistic. A search whose criterion is not below this part
# of the honest error of the linear methods is not repeated on the folds.
PROMISING = 0.9
NO_GAIN = "not clearly below"
# The default budget in CPU seconds: so many times what greedy RLS takes, within limits.
LENIENT = 2.0  # a method that is only a little slower than the budget stays
LEAST_SHARE = 0.25  # of the budget that a method has, however long those before it took
TIMES_GREEDY, LEAST_SECONDS, MOST_SECONDS, MANY_NUMBERS = 10, 3.0, 60.0, 1e7


class MethodWays:
    """All ways of all methods; a way is a method and one of its own ways."""

    metric: Metric | None = None

    def __init__(self, methods: Mapping[str, Any], X: Any, y: Any, given: Any) -> None:
        self._methods, self._ways = methods, dict[str, Ways]()
        for name, each in methods.items():
            several = each._ways(X, y, given) if hasattr(each, "_ways") else None
            self._ways[name] = several or SingleProcedure(each)
        every = self._ways.items()
        self.estimators: Mapping[Any, Any] = {
            (name, search): each for name, ways in every for search, each in ways.estimators.items()
        }
        self.names: Sequence[Any] = [(name, way) for name, ways in every for way in ways.names]
        self.plain: Sequence[Any] = [way for way in self.names if way[0] in LINEAR]

    def outputs(
        self, name: tuple[str, Any], found: RepetitionResult, train: Rows, test: Rows
    ) -> Mapping[Any, Mapping[int, Floats]]:
        """For every way that one of the searches leads to: what its models put out, by size."""
        method, search = name
        made = self._ways[method].outputs(search, found, train, test)
        return {(method, way): outputs for way, outputs in made.items()}

    def are_logits(self, name: tuple[str, Any], metric: Metric) -> bool:
        """Return whether the outputs of a way are logarithms of odds; others are calibrated."""
        method, way = name
        return self._ways[method].are_logits(way, metric_of(self._methods[method]))


class _Clock:
    """CPU seconds of searches; a validation repeats each of them ``times`` times in all.

    Estimates of nonlinear methods can be far too low, so the search on all data is measured. It
    ends when the repetitions would take ``LENIENT`` times the remaining budget.
    """

    def __init__(self, budget: float, times: int) -> None:
        self.budget, self.times, self.spent, self.begun = budget, times, 0.0, 0.0

    def start(self) -> None:
        self.begun = time.process_time()

    def stop(self) -> None:
        self.spent += self.times * (time.process_time() - self.begun)

    @property
    def is_late(self) -> bool:
        seconds = time.process_time() - self.begun
        share = LEAST_SHARE * max(self.budget, LEAST_SECONDS)
        return self.times * seconds > LENIENT * max(self.budget - self.spent, share)

    def too_slow(self) -> str:
        """Why a method is left out; its time counts."""
        seconds = time.process_time() - self.begun
        self.spent += seconds
        return (
            f"more than {duration(self.times * seconds)} by its search so far, beyond the time "
            f"budget of {duration(self.budget)}"
        )


@dataclass(eq=False, repr=False)
class _AutoSelector(SizedSelector):
    """What the regressor and the classifier share."""

    _chooses_method = True
    _prepared_by: ClassVar[Any] = (
        None  # a TableSelector, whose parameters prepare a table for each method
    )
    _: KW_ONLY
    time_budget: float | None = None
    random_state: Any = 0
    n_threads: int | None = None
    final: str | None = None

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Vector = None, groups: Vector = None) -> Self:
        """Try the methods, and choose one of them and a size."""
        if self._prepared_by is None:
            given, X = open_fit(self, X, y, sample_weight=sample_weight, groups=groups)
        else:
            given = Given.of(X, y, sample_weight=sample_weight, groups=groups)
            self.n_features_in_, self.feature_names_in_ = X.shape[1], np.array(X.columns, object)
        self._check_target(y, X.shape[0], given.more.get("sample_weight"))
        check_final(self.final)
        if self.max_features is not None:
            count("max_features", self.max_features, 0)
        seed = seed_of(self.random_state)
        methods, left = self._methods(X, given.more, random_state=seed)
        self._methods_tried = methods
        paths: dict[Any, SelectionPath] = {}
        so_far: dict[Any, SelectionPath] = {}
        self._searched = searched = dict[str, Any]()
        reached: dict[str, float] = {}

        def found() -> Found | None:
            if not so_far:
                return None
            name, path = next(iter(so_far.items()))
            state = {"method_": name[0], "comparison_": None, "left_out_": left}
            state["_chosen"] = searched.get(name[0])
            changes = {"seed": seed, "parameters": parameters_of(self)}
            done = name in paths and not run.stopped
            changes |= {"complete": done, "stopped": (path.stopped if done else str(run.stopped))}
            return Found((), path=path.replaced(**changes), fitted=state)

        clock = _Clock(self.budget(X), self._n_folds + 1)

        def tell(name: Any, path: SelectionPath) -> bool:
            so_far[name] = path
            return run.tell(name[0]) or (name[0] != GREEDY and clock.is_late)

        ways = MethodWays(methods, given.X, given.y, given.more)
        with Run(self, given, X, method="auto", found=found, paths=paths) as run:
            for name, each in ways.estimators.items():
                one = quiet_copy(each)
                if run.watched or name[0] != GREEDY:
                    one.set_params(callback=partial(tell, name))
                if name[0] in NONLINEAR and not reached:
                    reached = self._reached(given, methods)
                clock.start()
                try:
                    model = fit_clone(one, given.X, given.y, given.more)
                    path = model.path_
                except InputError as error:
                    if name[0] in LINEAR:
                        raise
                    left[name[0]] = str(error).rstrip(".")
                    del methods[name[0]]
                    continue
                why = ""
                if not run.stopped and name[0] != GREEDY and clock.is_late:
                    why = clock.too_slow()
                elif not run.stopped and name[0] in NONLINEAR:
                    why = _not_promising(path, reached)
                if why:
                    left[name[0]] = why
                    del methods[name[0]]
                    so_far.pop(name, None)
                    continue
                clock.stop()
                so_far[name] = path
                searched.setdefault(name[0], model)
                if run.stopped:
                    break
                paths[name] = path
        run.settle()
        self._searched = {}
        return self if self.final is None else self._boosted(given)

    def _reached(self, given: Given, methods: dict[str, Any]) -> dict[str, float]:
        """The least errors of the linear methods on held-out rows, by what criteria call them."""
        self._methods_tried = {name: each for name, each in methods.items() if name in LINEAR}
        found = held_out_losses(
            self,
            given.X,
            given.y,
            resolve_validation(self, len(given.y)),
            fit_params=given.more,
            groups=given.more.get("groups"),
        )
        self._methods_tried = methods
        ways = (found, *found.others)
        reached = {found.metric: min(float(way.errors.min()) for way in ways)}
        if found.figures is not None:
            rates = [way.figures.every()["error_rate"].min() for way in ways if way.figures]
            reached["zero-one error"] = float(min(rates))
        return reached

    def _boosted(self, given: Given) -> Self:
        """Put boosting in the place of the model of the selected size."""
        size, judged, path = len(self.selected_), self.honest_ is not None, self.path_
        self.honest_ = None
        y, weights = np.asarray(given.y).ravel(), given.more.get("sample_weight")
        model = Boosted.of(self, given.X, y, path.seed, weights)
        self.path_ = path.replaced(_models={**path._models, size: model})
        self.__dict__.update(_slopes={**getattr(self, "_slopes", {}), size: USUAL_SLOPE})

        def told(done: int, of: int) -> object:
            return self.callback is not None and self.callback(self.path_)

        if judged and path.complete:
            with Interruptible():
                self.honest_ = honest_boosting(self, given, self.validation, told)
            if self.honest_ is None:
                warn_user("interrupted: the final model has no honest error.")
        return self

    def expected_seconds(self, X: Any) -> float:
        """Estimate the CPU seconds of one search with each method, without the honest error."""
        methods, _ = self._methods(X)
        return float(sum(each.expected_seconds(X) for each in methods.values()))

    def budget(self, X: Any) -> float:
        """The CPU seconds that all methods may take together, with their validation.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The features; only their shape counts.
        """
        if self.time_budget is not None:
            return positive("time_budget", self.time_budget)
        seconds = (
            TIMES_GREEDY * (self._n_folds + 1) * self._made(GREEDY, alpha=1.0).expected_seconds(X)
        )
        n, p = X.shape
        most = MOST_SECONDS if n * p < MANY_NUMBERS else np.inf
        return float(min(max(seconds, LEAST_SECONDS), most))

    @property
    def _task(self) -> str:
        return "classification" if is_classifier(self) else "regression"

    def _made(self, method: str, **parameters: Any) -> Any:
        """The estimator of a method, with those of the parameters here that it has."""
        made = METHODS[method].make(self._task, **parameters)
        mine = {
            "choose": self.choose,
            "validation": self.validation,
            "max_features": self.max_features,
            "random_state": self.random_state,
            "n_threads": self.n_threads,
            "n_jobs": self.n_threads,
            "class_weight": getattr(self, "class_weight", None),
        }
        has = made.get_params(deep=False)
        return made.set_params(**{name: value for name, value in mine.items() if name in has})

    def _methods(
        self, X: Any, given: Mapping[str, Any] | None = None, **fixed: Any
    ) -> tuple[dict[str, Any], dict[str, str]]:
        """The methods to try by name, in the order of preference; and why others are not.

        ``fixed`` are parameters of methods that have them.
        """
        made, left = self._candidates(X, given or {})
        for each in made.values():
            has = each.get_params(deep=False)
            each.set_params(**{name: value for name, value in fixed.items() if name in has})
        if self._prepared_by is not None:
            made = {
                name: clone(self._prepared_by).set_params(selector=each)
                for name, each in made.items()
            }
        return made, left

    def _candidates(
        self, X: Any, given: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, str]]:
        left, budget = dict[str, str](), self.budget(X)
        if not is_validated(self, X.shape[0]):  # nothing can choose between them
            return {GREEDY: self._made(GREEDY)}, left
        if X.shape[0] < FEWEST_ROWS:
            why = f"fewer than {FEWEST_ROWS} rows, too few for folds within folds"
            return {GREEDY: self._made(GREEDY)}, dict.fromkeys((*LINEAR[1:], *NONLINEAR), why)
        made = {name: self._made(name) for name in LINEAR}
        spent = sum(self._seconds(each, X) for each in made.values())
        for name in NONLINEAR:
            each = self._made(name)
            seconds = self._seconds(each, X)
            lacks = self._lacks(each, given)
            if lacks:
                left[name] = f"it has no {lacks}"
            elif METHODS[name].two_classes and len(getattr(self, "classes_", ())) > 2:
                left[name] = "it is for two classes only"
            elif spent + seconds > budget:
                left[name] = (
                    f"about {duration(seconds)}, and {duration(max(budget - spent, 0.0))} of the "
                    f"time budget of {duration(budget)} are left"
                )
            else:
                made[name] = each
                spent += seconds
        return made, left

    def _lacks(self, each: Any, given: Mapping[str, Any]) -> str:
        """What was requested that a method does not have."""
        has = each.get_params(deep=False)
        for name in ("max_features", "class_weight"):
            if getattr(self, name, None) is not None and name not in has:
                return name
        weighted = given.get("sample_weight") is not None
        return "sample weights" if weighted and not has_fit_parameter(each, "sample_weight") else ""

    def _seconds(self, each: Any, X: Any) -> float:
        """CPU seconds of a method with its validation."""
        return float((self._n_folds + 1) * each.expected_seconds(X))

    def _ways(self, X: Any, y: Any, given: Mapping[str, Any]) -> MethodWays:
        """All ways among which honest errors choose; as a fit has them, if there was one."""
        methods = getattr(self, "_methods_tried", None)
        if methods is None:
            methods, _ = self._methods(X, given)
        return MethodWays(methods, X, y, given)

    def _of_way(
        self,
        found: HeldOutLosses,
        path: SelectionPath,
        given: Given,
        paths: Mapping[Any, SelectionPath],
    ) -> tuple[SelectionPath, dict[str, Any]]:
        """The path of the way that honest errors chose, and what all methods reached."""
        every = sorted((found, *found.others), key=lambda one: self._place(found, one))
        contestants = {
            name: self._contestant(name, [one for one in every if one.way[0] == name], paths)
            for name in self._methods_tried
        }
        ranked = tuple(sorted(contestants.values(), key=lambda one: one.chosen.error))
        names = getattr(self, "feature_names_in_", NumberedNames(self.n_features_in_))
        state = {"comparison_": Comparison(ranked, {}, tuple(names)), "method_": found.way[0]}
        name, way = found.way
        own = {search: of for (method, search), of in paths.items() if method == name}
        chosen = self._searched[name]
        if None in own:
            return own[None], {**state, "_chosen": chosen}
        one = self._methods_tried[name]  # with several ways of its own
        path, fitted = one._of_way(replace(found, way=way), next(iter(own.values())), given, own)
        vars(chosen).update(fitted)
        if "alpha" in chosen.get_params(deep=False):
            chosen.set_params(alpha=one.alpha)
        return path, {**state, "_chosen": chosen}

    @staticmethod
    def _place(found: HeldOutLosses, one: HeldOutLosses) -> int:
        """Where a way stands in the order of preference."""
        if one is found:
            return found.place
        place = found.others.index(one)
        return place + (place >= found.place)

    def _contestant(
        self, name: str, ways: list[HeldOutLosses], paths: Mapping[Any, SelectionPath]
    ) -> Contestant:
        """Result of one method, with the best of its own ways."""
        best = preferred_way(ways, self.choose)
        others = tuple(one for i, one in enumerate(ways) if i != best)
        losses = replace(ways[best], others=others, place=best, figures=None)
        path = next(of for (method, _), of in paths.items() if method == name)
        seconds = path.moves[-1].seconds if path.moves else 0.0
        names = getattr(self, "feature_names_in_", NumberedNames(self.n_features_in_))
        subsets = {len(s): tuple(s) for s in path.subsets}
        return contestant_of(name, subsets, losses, self.choose, seconds, names)

    def announcement(self, X: Any, **given: Any) -> str:
        """Return which methods a fit will try, and how long that takes; "" if there is one.

        Parameters
        ----------
        X : array, sparse matrix or data frame
            Data that ``fit`` will get.
        **given
            Further arguments of ``fit``, such as ``sample_weight``.
        """
        methods, left = self._candidates(X, given)
        if len(methods) == 1:
            return ""
        seconds = sum(self._seconds(each, X) for each in methods.values())
        said = f"trying {', '.join(methods)}: about {duration(seconds)} of one core"
        late = [name for name, why in left.items() if "time budget" in why]
        if late:
            said += f"; not {', '.join(late)}, beyond the time budget of {duration(self.budget(X))}"
        return said

    def summary(self) -> str:
        """What the best linear and the best nonlinear model reach, in one sentence."""
        return summary_of(self)

    def _check_target(self, y: Any, n_samples: int, weights: Floats | None) -> None:
        raise NotImplementedError


def _not_promising(path: SelectionPath, reached: Mapping[str, float]) -> str:
    """Why a method is left out whose criterion is not clearly below what linear methods reach."""
    least = next((of for kind, of in reached.items() if path.criterion.endswith(kind)), math.inf)
    error = path.error(path.choose("min"))
    if error < PROMISING * least:
        return ""
    return (
        f"the {path.criterion} of its search is {brief(error)}, {NO_GAIN} the {brief(least)} of "
        "linear methods on held-out rows"
    )


def summary_of(model: Any) -> str:
    """What the best linear and the best nonlinear model reach, in one sentence.

    ``model`` is a fitted ``AutoSelector``, or a ``TableSelector`` with one.
    """
    if model.comparison_ is None:
        return f"{model.method_} was tried alone."
    linear, other = (
        [one for one in model.comparison_.contestants if (one.name in LINEAR) is kind]
        for kind in (True, False)
    )
    if not other:
        tried = [name for name, reason in model.left_out_.items() if NO_GAIN in reason]
        if tried:
            return f"A nonlinear model promises no clear gain (tried: {', '.join(tried)})."
        alike = dict[str, list[str]]()
        for name, reason in model.left_out_.items():
            alike.setdefault(reason, []).append(name)
        why = "; ".join(f"{', '.join(names)}: {reason}" for reason, names in alike.items())
        return f"No nonlinear model was tried ({why})."
    plain, best = linear[0].chosen, other[0].chosen
    models = f"a nonlinear model ({other[0].name}) on {_features(best.size)}"
    than = f"the best linear one ({linear[0].name}, {_features(plain.size)})"
    if part := part_of(best.error, plain.error):
        return f"{models[0].upper()}{models[1:]} has less than {part} of the error of {than}."
    measure, errors = best.measure[0].upper() + best.measure[1:], [plain.error, best.error]
    if best.measure == "squared error":
        measure, errors = "RMSE", [math.sqrt(error) for error in errors]
    return (
        f"{measure}: {brief(errors[0])} with {linear[0].name} ({_features(plain.size)}), "
        f"{brief(errors[1])} with {other[0].name} ({_features(best.size)})."
    )


def part_of(error: float, other: float) -> str:
    """The part of another error that an error stays below, in words; "" if half is too little.

    >>> part_of(0.05, 1.0), part_of(0.2, 1.0), part_of(0.4, 1.0), part_of(0.6, 1.0)
    ('a tenth', 'a third', 'half', '')
    """
    parts = ((0.1, "a tenth"), (1 / 3, "a third"), (0.5, "half"))
    return next((words for part, words in parts if error < part * other), "")


def _features(size: int) -> str:
    return f"{size} feature{'' if size == 1 else 's'}"


@dataclass(eq=False, repr=False)
class AutoSelectorRegressor(PathRegressorMixin, _AutoSelector):
    """Feature selection for regression with the method that has the lowest honest error.

    Greedy RLS with several penalties, grafting, ELM-FS and, where the time budget allows, RBF and
    grown networks are repeated on the same outer folds. The method and the size are chosen together
    by these honest errors, and the reported error is corrected for both choices.

    Parameters
    ----------
    max_features : int, optional
        Largest size on the path; None: that of each method.
    choose : {"one_se", "min"}, int or float, default="one_se"
        Rule for the method, then for the size. "one_se": the first method within one standard error
        (paired) of the lowest error, linear ones first, and its smallest such size. "min": the
        lowest error. An integer: this size, with the method that has the lowest error there.
    time_budget : float, optional
        CPU seconds of one core for all methods with their validation. Greedy RLS is always tried,
        grafting unless its search turns out to be too slow, and a nonlinear method if its estimate
        fits, its search confirms that, and the criterion of that search promises a clear gain.
        None: ten times what greedy RLS takes, at least 3 seconds and, for data under ten million
        numbers, at most 60.
    random_state : int, RandomState instance or None, default=0
        For the methods that draw random numbers.
    n_threads : int, optional
        Number of threads or worker processes. Affects speed only.
    final : {"boosting"}, optional
        The model of the selected size: that of the method, or "boosting", scikit-learn's
        HistGradientBoosting on the selected columns. Its honest error repeats everything in every
        fold, including the choice of the method and of the size, which takes about six times as
        long. Other sizes, and the errors on the path, are those of the method.
    validation : "auto", int, splitter, list of splits or None, default="auto"
        Outer cross-validation for the honest errors, by which the method and the size are chosen: a
        number of folds ("auto": five), a scikit-learn splitter, or a list of splits. None: greedy
        RLS alone, and no honest errors.
    callback : callable, optional
        Called with the path of the first method after each search on all data, and before each
        fold. A true return value stops the work and keeps the result so far.

    Attributes
    ----------
    path_ : SelectionPath
        Path of the method that was chosen.
    method_ : str
        The method that was chosen.
    comparison_ : Comparison or None
        What each method reached on the same folds; None without validation.
    left_out_ : dict of str to str
        Methods that were not tried, and why.
    selected_ : array of int
        Selected columns.
    models_ : dict of size to Predictor
        Model of every size on the path: small, immutable, JSON by ``to_dict``. Empty if the
        selector does not predict.
    honest_ : Honest or None
        Size in use and its honest error (nested cross-validation); None if ``validation`` is None.
    n_features_in_, feature_names_in_ : int, array of str
        Number of columns seen by ``fit``, and their names if X had any.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsepath import AutoSelectorRegressor
    >>> X = np.random.default_rng(0).standard_normal((300, 12))
    >>> y = 3 * X[:, 0] * X[:, 1] + 2 * X[:, 2] ** 2
    >>> model = AutoSelectorRegressor().fit(X, y)
    >>> model.method_, sorted(model.selected_.tolist())
    ('elm-fs', [0, 1, 2])
    >>> model.summary().split(" has ")[0]
    'A nonlinear model (elm-fs) on 3 features'
    """

    def _check_target(self, y: Any, n_samples: int, weights: Floats | None) -> None:
        self._numbers(y, n_samples, weights)


@dataclass(eq=False, repr=False)
class AutoSelectorClassifier(PathClassifierMixin, _AutoSelector):
    """Feature selection for classification with the method that has the lowest honest error.

    Greedy RLS with several penalties, grafting, ELM-FS and, where the time budget allows, RBF and
    grown networks are repeated on the same outer folds. The method and the size are chosen together
    by their honest log loss, and the reported error is corrected for both choices.

    Parameters
    ----------
    max_features : int, optional
        Largest size on the path; None: that of each method.
    choose : {"one_se", "min"}, int or float, default="one_se"
        Rule for the method, then for the size. "one_se": the first method within one standard error
        (paired) of the lowest error, linear ones first, and its smallest such size. "min": the
        lowest error. An integer: this size, with the method that has the lowest error there.
    time_budget : float, optional
        CPU seconds of one core for all methods with their validation. Greedy RLS is always tried,
        grafting unless its search turns out to be too slow, and a nonlinear method if its estimate
        fits, its search confirms that, and the criterion of that search promises a clear gain.
        None: ten times what greedy RLS takes, at least 3 seconds and, for data under ten million
        numbers, at most 60.
    random_state : int, RandomState instance or None, default=0
        For the methods that draw random numbers.
    n_threads : int, optional
        Number of threads or worker processes. Affects speed only.
    final : {"boosting"}, optional
        The model of the selected size: that of the method, or "boosting", scikit-learn's
        HistGradientBoosting on the selected columns. Its honest error repeats everything in every
        fold, including the choice of the method and of the size, which takes about six times as
        long. Other sizes, and the errors on the path, are those of the method.
    validation : "auto", int, splitter, list of splits or None, default="auto"
        Outer cross-validation for the honest errors, by which the method and the size are chosen: a
        number of folds ("auto": five), a scikit-learn splitter, or a list of splits. None: greedy
        RLS alone, and no honest errors.
    class_weight : "balanced", mapping or None, default=None
        Factors for the sample weights of each class, as in ``SparseRLSClassifier``; methods without
        class weights are left out.
    threshold : "balanced", "f1", float, array of shape (2, 2) or None, default=None
        Score above which the second of the two classes is predicted, as in ``SparseRLSClassifier``.
    callback : callable, optional
        Called with the path of the first method after each search on all data, and before each
        fold. A true return value stops the work and keeps the result so far.

    Attributes
    ----------
    path_ : SelectionPath
        Path of the method that was chosen.
    method_ : str
        The method that was chosen.
    comparison_ : Comparison or None
        What each method reached on the same folds; None without validation.
    left_out_ : dict of str to str
        Methods that were not tried, and why.
    selected_ : array of int
        Selected columns.
    classes_ : array
        Class labels.
    models_ : dict of size to Predictor
        Model of every size on the path: small, immutable, JSON by ``to_dict``. Empty if the
        selector does not predict.
    honest_ : Honest or None
        Size in use and its honest error (nested cross-validation); None if ``validation`` is None.
    n_features_in_, feature_names_in_ : int, array of str
        Number of columns seen by ``fit``, and their names if X had any.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sparsepath import AutoSelectorClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = AutoSelectorClassifier().fit(X, y)
    >>> model.honest_.error < 0.1
    True
    """

    _: KW_ONLY
    class_weight: Any = None
    threshold: Any = None
    _metric = "logistic"

    def _check_target(self, y: Any, n_samples: int, weights: Floats | None) -> None:
        self._codes(y, n_samples, weights)
