"""The commands that search: select, compare and plan."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from sparsepath.cli import options
from sparsepath.cli import teaching as ask
from sparsepath.cli.say import say
from sparsepath.cli.streams import list_files, print_document, taken
from sparsepath.cli.teaching import stoppable, with_options
from sparsepath.errors import InputError
from sparsepath.methods import METHODS, called_here

INTERRUPTED = 130


@with_options
@stoppable()
def select(
    data: ask.File,
    target: ask.Target = None,
    method: ask.MethodName = "greedy-rls",
    task: ask.Task = "auto",
    validation: ask.Validation = None,
    no_validation: ask.NoValidation = False,
    null: ask.Null = None,
    stability: ask.Stability = None,
    drop: ask.Drop = None,
    rows: ask.Rows = None,
    keep_index: ask.KeepIndex = False,
    missing: ask.Missing = "error",
    dates: ask.Dates = "error",
    delimiter: ask.Delimiter = None,
    decimal: ask.Decimal = None,
    encoding: ask.Encoding = None,
    sheet: ask.Sheet = None,
    names: ask.Names = None,
    sample: ask.Sample = None,
    out: ask.Folder = None,
    memory: ask.Memory = None,
    dask: ask.Dask = None,
    resume: ask.Resume = False,
    model_format: ask.ModelFormat = "json",
    json: ask.Json = False,
    quiet: ask.Quiet = False,
    **asked_of_method: Any,
) -> None:
    """Find the few features that matter, and how many to use.

    For every number of features the best set found and its error, as a table; then a
    recommendation.
    """
    data = taken(data)
    form = options.one_of("--model-format", model_format, ("json", "joblib"))
    method = options.one_of("--method", method, METHODS, called_here())
    asked = options.one_of("--task", task, options.TASKS)
    given = {
        name.replace("_", "-"): options.value(name.replace("_", "-"), value)
        for name, value in asked_of_method.items()
        if value is not None
    }
    if resume:
        options.check_checkpoint(given.get("checkpoint"))
    dropped = [] if drop is None else options.names("--drop", drop)
    wanted = None if rows is None else options.rows("--rows", rows)
    folds = folds_of(validation, no_validation)
    times = 0 if null is None else options.shuffles("--null", null)
    halves = 0 if stability is None else options.halves("--stability", stability)

    from sparsepath.cli import reading, results
    from sparsepath.cli import select as job
    from sparsepath.cli.settling import SelectionAsked

    if out is not None:
        results.check_folder(out)
        given_files = [data] if names is None else [data, names]
        results.refuse_inputs(given_files, (out / name for name in results.FILES))
    limit = None if memory is None else options.size("--memory", memory)
    drawn = None if sample is None else options.sample("--sample", sample)
    from sparsepath.cli import streamed

    if streamed.is_asked(data, limit, dask):
        if times or halves or wanted is not None or drawn or names:
            raise InputError(
                "--null, --stability, --rows, --sample and --names need data in memory; leave them "
                "out."
            )
        parts, index = streamed.opened(
            data,
            target,
            dropped,
            given.get("weights"),
            limit,
            keep_index or named_in(given),
            options.writing(delimiter, decimal, encoding, sheet),
            given.get("groups"),
        )
        with streamed.cluster(dask) as client:
            outcome = streamed.search(
                parts,
                given,
                method=method,
                asked=asked,
                validation=folds,
                memory=limit,
                preparing=options.preparing(missing, dates),
                client=client,
                index=index,
                quiet=quiet or json,
            )
        _report(outcome, out, as_json=json, quiet=quiet, pickled=form == "joblib")
        return
    source = reading.TableSource(
        data,
        target,
        dropped,
        wanted,
        given.get("weights"),
        given.get("groups"),
        keep_index or named_in(given),
        options.preparing(missing, dates),
        options.writing(delimiter, decimal, encoding, sheet),
        names,
        drawn,
    )
    problem = reading.read(source)
    judging = SelectionAsked(validation=folds, null=times, halves=halves)
    outcome = job.search(
        problem, given, method=method, asked=asked, judging=judging, quiet=quiet or json
    )
    _report(outcome, out, as_json=json, quiet=quiet, pickled=form == "joblib")


def named_in(given: Mapping[str, Any]) -> list[str]:
    """Columns that options name, which are features whatever they look like."""
    return [name for option in ("force", "forbid", "start") for name in given.get(option, ())]


def _report(outcome: Any, out: Path | None, *, as_json: bool, quiet: bool, pickled: bool) -> None:
    """Write the files first, then say what there is."""
    from sparsepath.cli import results, show

    more = {results.PICKLED: results.pickled(outcome.model)} if pickled else {}
    files = results.write_results(outcome, out, more) if out is not None else {}
    if not quiet or outcome.interrupted:
        for note in outcome.notes:
            say(f"Note: {note}")
    if as_json:
        print(results.document(outcome, files))
    elif quiet:
        print(show.sentence(outcome))
    else:
        show.show(outcome)
        list_files(files, results.FILES | results.MORE_FILES)
    if outcome.interrupted:
        raise typer.Exit(INTERRUPTED)


@stoppable()
def compare(
    data: ask.File,
    target: ask.Target = None,
    methods: ask.MethodNames = None,
    task: ask.Task = "auto",
    validation: ask.Folds = "10",
    weights: ask.Weights = None,
    groups: ask.Groups = None,
    drop: ask.Drop = None,
    rows: ask.Rows = None,
    missing: ask.Missing = "error",
    dates: ask.Dates = "error",
    delimiter: ask.Delimiter = None,
    decimal: ask.Decimal = None,
    encoding: ask.Encoding = None,
    sheet: ask.Sheet = None,
    names: ask.Names = None,
    sample: ask.Sample = None,
    out: ask.Folder = None,
    budget: ask.Budget = None,
    seed: ask.Seed = None,
    threads: ask.Threads = None,
    json: ask.Json = False,
    quiet: ask.Quiet = False,
) -> None:
    """Judge several methods on the same rows left out.

    For each the size to use, its error on new data, its time and its features; then what they
    agree on.
    """
    began = time.perf_counter()
    data = taken(data)
    asked = options.one_of("--task", task, options.TASKS)
    folds = options.folds("--validation", validation)
    chosen = None
    if methods is not None:
        chosen = tuple(
            options.one_of("--methods", name, METHODS, called_here())
            for name in options.names("--methods", methods)
        )
    limit = None if budget is None else options.duration("--budget", budget)
    given = {"seed": seed, "threads": threads}
    known = {name: options.value(name, value) for name, value in given.items() if value is not None}
    dropped = [] if drop is None else options.names("--drop", drop)
    wanted = None if rows is None else options.rows("--rows", rows)

    from sparsepath.cli import compare as job
    from sparsepath.cli import results
    from sparsepath.cli.reading import TableSource, read

    if out is not None:
        results.check_folder(out)
        results.refuse_inputs([data], (out / name for name in job.FILES))
    source = TableSource(
        data,
        target,
        dropped,
        wanted,
        weights,
        groups,
        preparing=options.preparing(missing, dates),
        writing=options.writing(delimiter, decimal, encoding, sheet),
        names=names,
        sample=None if sample is None else options.sample("--sample", sample),
    )
    problem = read(source)
    if limit is not None:  # reading counts
        limit = max(limit - (time.perf_counter() - began), 1e-3)
    found = job.run(problem, job.ContestAsked(chosen, asked, folds, limit, known), quiet or json)
    files = {} if out is None else job.write(found, out, data)
    if json:
        import json as encoder

        print(encoder.dumps(job.document(found)))
    elif quiet:
        print(found.sentence())
    else:
        job.show(found)
        list_files(files, job.FILES)


@stoppable()
def plan(
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="A file, folder or pattern: 'data/*.parquet'.")
    ],
    target: ask.Target = None,
    method: ask.MethodName = "greedy-rls",
    max_features: ask.MaxFeatures = None,
    cv: ask.Cv = "loo",
    validation: ask.Validation = None,
    no_validation: ask.NoValidation = False,
    null: ask.Null = None,
    stability: ask.Stability = None,
    drop: ask.Drop = None,
    rows: ask.Rows = None,
    missing: ask.Missing = "error",
    dates: ask.Dates = "error",
    sheet: ask.Sheet = None,
    memory: ask.Memory = None,
    json: ask.Json = False,
) -> None:
    """Tell what select would take, before it runs.

    For data in memory by one search and a few of its repetitions; for data that are read in passes
    by the speed of the first rows.
    """
    method = options.one_of("--method", method, METHODS, called_here())
    steps = None if max_features is None else options.count("--max-features", max_features)
    splits = options.cv("--cv", cv)
    folds = folds_of(validation, no_validation)
    times = 0 if null is None else options.shuffles("--null", null)
    halves = 0 if stability is None else options.halves("--stability", stability)
    limit = None if memory is None else options.size("--memory", memory)
    dropped = [] if drop is None else options.names("--drop", drop)
    wanted = None if rows is None else options.rows("--rows", rows)
    from sparsepath.cli import planned, streamed
    from sparsepath.cli.reading import TableSource

    if not streamed.is_asked(data, limit, None):
        of = TableSource(
            data,
            target,
            dropped,
            wanted,
            preparing=options.preparing(missing, dates),
            writing=options.writing(None, None, None, sheet),
        )
        given = {"max-features": steps, "cv": None if splits == "loo" else splits}
        given = {name: value for name, value in given.items() if value is not None}
        found = planned.in_memory(of, method, given, folds, times, halves)
    else:
        if times or halves or wanted is not None:
            raise InputError("--null, --stability and --rows need data in memory; leave them out.")
        writing = options.writing(None, None, None, sheet)
        source, _ = streamed.opened(data, target, dropped, None, limit, False, writing)
        inner = splits if isinstance(splits, int) else None
        if isinstance(folds, str) and folds != "auto":
            raise InputError(f"--validation {folds} needs data in memory; give a number of folds.")
        outer = 10 if folds == "auto" else int(folds or 0)
        found = planned.in_passes(source, steps or 30, inner, outer, limit)
    if json:
        print_document("plan", **found)
    else:
        print("\n".join(found["sentences"]))


def folds_of(validation: str | None, none: bool) -> str | int | None:
    """What is left out, of what two options say."""
    if validation is None:
        return None if none else "auto"
    if none:
        raise InputError("--validation and --no-validation exclude each other; give one.")
    return options.folds("--validation", validation)
