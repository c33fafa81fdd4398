"""Which engine runs a search, from the shape of the problem alone, and why.

Every engine has the interface of ``model.py`` and makes the same choices. What is left out decides
first:

    one sample     the three engines below; ``Elimination`` for a backward search
    a part         ``FoldModel`` (squared loss, from moments), ``FoldLossModel`` (other losses)
    a pair         ``PairModel``, ``RankModel``; ``DisagreementModel`` over parts

Data from files and clusters have ``InPasses`` and ``StreamedFolds``. For one sample left out, with
m samples, n features, T targets and k steps:

    gram      A plain forward search of tall data by the squared loss, in one compiled loop
              (``leave_one_out/gram_search.py``): products of all columns if n is at most about
              8 (1 + T) k and m T / 16, of the k most correlated ones otherwise; then bounds from
              these. It needs m of 8 k at least, or 25 k without all products: with larger
              leverages bounds are loose. What it is for are parts of the same rows, as in the ten
              folds of the default validation, which share the products (``shared_moments.py``):
              0.25 against 0.99 s in memory at 20000 x 200, k = 50; 0.81 against 1.81 s at
              k = 100; 0.22 against 2.46 s at 10000 x 1000, k = 50. A single fit takes about half
              the time (44 against 104 ms, 98 against 187, 104 against 204).
    memory    P X in memory, read and written once a step (``leave_one_out/in_memory.py``). Every
              search and loss; the default.
    passes    Products with the chosen columns, bounds, and exact values of the few candidates that
              these leave open (``passes/engine.py``). Sparse data, data too large for a
              copy in memory, columns that enter in groups; and large data with few steps, where
              it takes a third of the time: 0.4 against 1.3 s at 50000 x 1000, k = 20.

``benchmarks/shapes.py`` measures the borders. Threads do not count: the choice must not depend on
them.
"""

import math
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsepath.data.blocks import row_blocks
from sparsepath.data.memory_layout import column_major
from sparsepath.errors import InputError, warn_user
from sparsepath.rls.criteria.losses import Criterion, Loss
from sparsepath.rls.design import Design
from sparsepath.rls.folds.elimination import FoldElimination
from sparsepath.rls.folds.losses import FoldLossModel
from sparsepath.rls.folds.model import FoldModel
from sparsepath.rls.folds.moments import SplitSums
from sparsepath.rls.folds.splits import Splits, label_of
from sparsepath.rls.groups import Grouped
from sparsepath.rls.leave_one_out.elimination import Elimination
from sparsepath.rls.leave_one_out.forward_path import ForwardSearch
from sparsepath.rls.leave_one_out.gram_search import (
    ProductSearch,
    by_gram,
    products_pay,
    rows_kept,
)
from sparsepath.rls.leave_one_out.in_memory import InMemory, InMemorySearch
from sparsepath.rls.model import Model
from sparsepath.rls.pairs.model import LeavePairOut, PairModel, RankModel
from sparsepath.rls.pairs.queries import DisagreementModel, QuerySums
from sparsepath.rls.parameters import SearchSpec
from sparsepath.rls.passes.design import StreamDesign
from sparsepath.rls.passes.engine import InPasses
from sparsepath.rls.passes.fold_losses import StreamedFolds
from sparsepath.rls.passes.folds import CellSums
from sparsepath.rls.passes.rows import RowsInMemory, StreamedRows
from sparsepath.rls.stopping import StopRule
from sparsepath.rls.update import column_mask
from sparsepath.system.arrays import Floats
from sparsepath.system.threads import Threads
from sparsepath.system.tuning import TUNING
from sparsepath.system.tuning import memory as memory_there

FORMS = ("auto", "memory", "passes")  # that can be requested
BOUNDS_FROM = 1 << 21  # numbers in the data from which bounds take less time than P X in memory


@dataclass(frozen=True)
class Form:
    """An engine and the reason for it."""

    name: str
    why: str

    def __str__(self) -> str:
        return f"{self.name}: {self.why}"


def form_for(
    design: Design,
    *,
    loss: Criterion,
    steps: int,
    targets: int = 1,
    grouped: bool = False,
    once: bool = False,
    form: str = "auto",
    memory: float | None = None,
) -> Form:
    """The engine for a leave-one-out search of so many ``steps``, as far as they are known.

    ``grouped``: columns enter in groups; ``once``: a plain forward search, which may run in one
    call; ``form`` is one of ``FORMS`` and taken if it can be; ``memory`` are the bytes that copies
    of the data may take (default: a quarter of the machine's).
    """
    m, n = design.n_samples, design.n_features
    k = min(steps, n)
    room = default_memory() if memory is None else memory
    if grouped:
        return Form("passes", "columns enter in groups")
    if form != "auto":
        return Form(form, "as given")
    if 8 * n * (m + k) > room:
        return Form("passes", "P X does not fit in memory")
    if not loss.bounded:
        return Form("memory", f"loss {loss.name!r} has no bounds, and P X fits in memory")
    few = n if products_pay(m, n, k, targets) else k
    copies = 8 * (n * (m + few) + m * (k + rows_kept(m, n)))
    if once and not design.sparse and copies <= room:
        if few == n:
            return Form("gram", f"products of {n} columns cost less than {k} passes")
        if bounds_pay(m, n, k):
            return Form("gram", f"data are large, and {k} features few for {m} samples")
    if bounds_pay(m, n, k):
        return Form("passes", f"data are large, and {k} features few for {m} samples")
    return Form("memory", "P X fits in memory")


def bounds_pay(m: int, n: int, steps: int) -> bool:
    """Return whether bounds and few exact values are faster than P X in memory."""
    return m * n >= BOUNDS_FROM and m >= 25 * steps


@cache
def default_memory() -> float:
    """Return a quarter of the machine's memory, in bytes; 2 GiB if unknown."""
    there = memory_there()
    return there / 4 if math.isfinite(there) else 2.0**31


def make_design(
    X: Any,
    weights: Floats,
    threads: Threads,
    *,
    fit_intercept: bool = True,
    standardize: bool = False,
    n_blocks: int | None = None,
    memory: float | None = None,
    measured: tuple[Floats, Floats] | None = None,
) -> Design:
    """The data of a problem, ready for any target, penalty and search.

    Tall data whose columns do not lie in memory one by one are copied, if a copy takes no more than
    ``memory`` bytes (default: a quarter of the machine's). An engine copies wide ones anyway.
    """
    limit = default_memory() if memory is None else memory
    if isinstance(X, np.ndarray) and 8 * X.size <= limit:
        if X.size < TUNING.turned_from:
            X = np.asfortranarray(X, dtype=np.float64)
        elif not np.can_cast(X.dtype, np.float64) or (tall(X) and X.strides[0] != X.itemsize):
            X = column_major(X, threads)
    blocks = row_blocks(X, n_blocks)
    return Design(
        blocks,
        weights,
        threads,
        fit_intercept=fit_intercept,
        standardize=standardize,
        measured=measured,
    )


def tall(X: NDArray[Any]) -> bool:
    """Return whether there are more samples than features."""
    return X.shape[0] > X.shape[1]


def is_plain(design: Design, spec: SearchSpec) -> bool:
    """Return whether it is a forward search from the empty set without constraints on the order."""
    judging = any(isinstance(rule, StopRule) and rule.judges_additions for rule in spec.rules)
    bound = spec.forced or spec.start or spec.parents or spec.groups or spec.costs or judging
    bound = bound or spec.epsilon is not None
    plain = not spec.backward and spec.form == "auto"
    plain &= spec.queries is None
    return plain and not bound and not design.streamed


def make_forward_search(
    design: Design, Y: Floats, alpha: float, spec: SearchSpec
) -> ForwardSearch | None:
    """Return the search as one compiled loop, if no decision in Python is needed between steps."""
    loss = spec.loss
    if spec.search != "forward" or spec.splits is not None or not is_plain(design, spec):
        return None
    if not isinstance(loss, Loss) or loss.counts or loss.kernel is None:
        return None
    given = {"steps": spec.size, "targets": Y.shape[1], "memory": spec.memory}
    form = form_for(design, loss=loss, once=True, **given)
    allowed = column_mask(spec.candidates, design.n_features)
    search: ForwardSearch
    if form.name == "gram":
        data = by_gram(design, Y, spec.size)
        search = ProductSearch(design, Y, alpha, spec.size, allowed, data)
    elif form.name == "memory":
        model = InMemory(design, Y, alpha, loss, spec.size)
        search = InMemorySearch(model, spec.size, allowed)
    else:
        return None
    search.form = str(form)
    return search


def make_sums(design: Design, Y: Floats, spec: SearchSpec) -> SplitSums | None:
    """Return the sums of products over the splits, which serve every penalty."""
    if spec.splits is None:
        return None
    splits = without_empty_folds(design, Y, spec, quiet=True).splits
    assert splits is not None
    if spec.queries is None:
        sums = SplitSums(design, Y, splits, once=spec.search in ("forward", "floating"))
    else:
        sums = QuerySums(design, Y, splits, spec.queries)
    sums.memory = default_memory() if spec.memory is None else spec.memory
    return sums


def without_empty_folds(
    design: Design, Y: Floats, spec: SearchSpec, *, quiet: bool = False
) -> SearchSpec:
    """Return the spec with only the splits whose test fold can be evaluated; warn about others."""
    if spec.splits is None:
        return spec
    w, one = design.weights, np.zeros(design.n_samples, dtype=np.intp)
    queries = one if spec.queries is None else spec.queries
    tests = [np.arange(design.n_samples)[np.asarray(test)] for _, test in spec.splits]
    needed = spec.loss.needs
    counts = [spec.loss.can_judge(Y[test], w[test], queries[test]) for test in tests]
    if all(counts) and counts:
        return spec
    if not any(counts):
        raise InputError(
            f"cv: none of the {len(counts)} test parts has {needed}; use other splits, shuffled or "
            "stratified ones for instance."
        )
    if not quiet and spec.queries is None:  # a query of one sample is no loss
        warn_user(
            f"{len(counts) - sum(counts)} of {len(counts)} test parts do not have {needed} and are "
            "skipped; the errors are means over the others."
        )
    splits = Splits(tuple(spec.splits), label_of(spec.splits))
    return replace(spec, splits=splits.only(counts))


def make_model(
    design: Design, Y: Floats, alpha: float, spec: SearchSpec, sums: SplitSums | None = None
) -> Model:
    """Return the empty model with the criterion of the spec; ``sums`` is the result of
    ``make_sums``.
    """
    model: InPasses | InMemory | Elimination | FoldModel | LeavePairOut
    sums = make_sums(design, Y, spec) if sums is None else sums
    if spec.splits is None or sums is None:
        model = _left_out_singly(design, Y, alpha, spec)
    elif spec.loss.by_sums:
        plain = spec.form == "auto" and not design.streamed
        dropping = spec.backward and not spec.groups and plain
        kind = FoldElimination if dropping else FoldModel
        model = kind(design, Y, alpha, spec.splits, spec.pooled, sums)
    elif spec.loss.pairs:
        one = np.zeros(design.n_samples, dtype=np.intp)
        queries = one if spec.queries is None else spec.queries
        model = DisagreementModel(design, Y, alpha, spec.pooled, sums, queries)
    elif isinstance(design, StreamDesign):
        assert isinstance(sums, CellSums)
        model = StreamedFolds(design, alpha, spec.pooled, _loss(spec), sums)
    else:
        model = FoldLossModel(design, Y, alpha, spec.splits, spec.pooled, _loss(spec), sums)
    model.form = model.form or str(_form_of(model, spec))
    model.costs = spec.costs
    if not spec.groups:
        return model
    if isinstance(model, StreamedFolds):
        raise InputError(
            f"loss={model.loss.name!r} over folds with feature_groups, or with categories, needs "
            "data in memory; use cv='loo', or loss='squared'."
        )
    if not isinstance(model, InPasses | FoldModel):
        raise InputError("leave-pair-out does not support feature_groups; use cv=10.")
    return Grouped(model, [list(group) for group in spec.groups])


def _form_of(model: Model, spec: SearchSpec) -> Form:
    """The engine whose kind left no choice, and the reason for it."""
    loss = spec.loss.name
    match model:
        case InPasses():
            return Form("passes", "rows are read from their source")
        case Elimination():
            return Form("removals", "a backward search reads only the chosen columns")
        case FoldElimination():
            return Form("fold removals", "a backward search over splits; sums of products by part")
        case DisagreementModel():
            return Form("pairs over folds", f"loss {loss!r} orders pairs within each test part")
        case StreamedFolds():
            return Form("fold losses in passes", f"loss {loss!r} needs the rows, read in passes")
        case FoldLossModel():
            return Form("fold losses", f"loss {loss!r} needs the rows of every test part")
        case FoldModel():
            return Form("folds", f"loss {loss!r} over splits needs sums of products by part only")
        case _:
            return Form("pairs", f"loss {loss!r}, and pairs of samples are left out")


def _left_out_singly(
    design: Design, Y: Floats, alpha: float, spec: SearchSpec
) -> InPasses | InMemory | Elimination | LeavePairOut:
    """Return the model that leaves out samples, or pairs of samples, one at a time."""
    if isinstance(design, StreamDesign):
        return InPasses(StreamedRows(design), alpha, _loss(spec), spec.size, spec.groups)
    if spec.loss.pairs:  # of classes, or of queries
        coded = spec.loss.coded
        return PairModel(design, Y, alpha) if coded else RankModel(design, Y, alpha, spec.loss)
    loss = _loss(spec)
    if spec.backward and loss.bounded and not spec.groups and spec.form == "auto":
        return Elimination(design, Y, alpha, loss)
    if spec.form not in FORMS:
        raise InputError(f"form={spec.form!r} is not known; use one of {', '.join(FORMS)}.")
    form = form_for(
        design,
        loss=loss,
        steps=spec.size,
        grouped=bool(spec.groups),
        form=spec.form,
        memory=spec.memory,
    )
    model: InPasses | InMemory
    if form.name == "memory":
        model = InMemory(design, Y, alpha, loss, spec.size)
    else:
        rows = held_rows(design, Y, spec.size, bool(spec.groups), spec.memory)
        model = InPasses(rows, alpha, loss, spec.size, spec.groups)
    model.form = str(form)
    return model


def held_rows(
    design: Design, Y: Floats, steps: int, grouped: bool = False, memory: float | None = None
) -> RowsInMemory:
    """Return rows in memory for the engine in passes, with all products if that pays."""
    (m, n), room = design.shape, default_memory() if memory is None else memory
    pays = grouped or products_pay(m, n, min(steps, n), Y.shape[1])
    return RowsInMemory(design, Y, pays and 8 * n * n <= room)


def _loss(spec: SearchSpec) -> Loss:
    """Return the criterion of a spec without pairs."""
    assert isinstance(spec.loss, Loss)
    return spec.loss
