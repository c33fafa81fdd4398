"""The commands that search: select, compare and plan."""

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from sparsepath.cli import options
from sparsepath.cli import teaching as ask
from sparsepath.cli.streams import list_files, print_document, say, taken
from sparsepath.cli.teaching import asks
from sparsepath.errors import InputError
from sparsepath.methods import METHODS, called_here

EXIT_INTERRUPTED = 130


@asks(
    "target method=greedy-rls task=auto validation no-validation null stability drop rows "
    "keep-index missing=error dates=error delimiter decimal encoding sheet names sample out memory "
    "dask resume model-format=json json quiet",
    of_methods=True,
)
def select(data: ask.File, asked: Any) -> None:
    """Find the few features that matter, and how many to use.

    For every number of features the best set found and its error, as a table; then a
    recommendation.
    """
    data, given = taken(data), asked.of_method
    if asked.resume:
        options.check_checkpoint(given.get("checkpoint"))
    folds = _folds(asked)

    from sparsepath.cli import reading, results, streamed
    from sparsepath.cli import select as job
    from sparsepath.cli.settling import SelectionAsked

    if asked.out is not None:
        results.check_folder(asked.out)
        given_files = [data] if asked.names is None else [data, asked.names]
        results.refuse_inputs(given_files, (asked.out / name for name in results.FILES))
    how = {"method": asked.method, "asked": asked.task, "quiet": asked.quiet or asked.json}
    # Columns that options name are features whatever they look like.
    named = [name for option in ("force", "forbid", "start") for name in given.get(option, ())]
    source = _source(
        data, asked, given.get("weights"), given.get("groups"), asked.keep_index or named
    )
    if streamed.is_asked(data, asked.memory, asked.dask):
        _refuse_in_passes(asked, "null", "stability", "rows", "sample", "names")
        parts, index = streamed.opened(source, asked.memory)
        with streamed.cluster(asked.dask) as client:
            outcome = streamed.search(
                parts,
                given,
                validation=folds,
                memory=asked.memory,
                preparing=source.preparing,
                client=client,
                index=index,
                **how,
            )
    else:
        judging = SelectionAsked(
            validation=folds, null=asked.null or 0, halves=asked.stability or 0
        )
        problem = reading.read(source)
        outcome = job.search(problem, given, judging=judging, **how)
    _report(outcome, asked)


def _report(outcome: Any, asked: Any) -> None:
    """Write the files first, then say what there is."""
    from sparsepath.cli import results, show

    pickled = asked.model_format == "joblib"
    more = {results.PICKLED: results.pickled(outcome.model)} if pickled else {}
    files = results.write_results(outcome, asked.out, more) if asked.out is not None else {}
    if not asked.quiet or outcome.interrupted:
        for note in outcome.notes:
            say(f"Note: {note}")
    if asked.json:
        print(results.document(outcome, files))
    elif asked.quiet:
        print(show.sentence(outcome))
    else:
        show.show(outcome)
        list_files(files, results.FILES | results.MORE_FILES)
    if outcome.interrupted:
        raise typer.Exit(EXIT_INTERRUPTED)


@asks(
    "target methods task=auto folds=10 weights groups drop rows missing=error dates=error "
    "delimiter decimal encoding sheet names sample out budget seed threads json quiet"
)
def compare(data: ask.File, asked: Any) -> None:
    """Judge several methods on the same rows left out.

    For each the size to use, its error on new data, its time and its features; then what they
    agree on.
    """
    began = time.perf_counter()
    data, chosen = taken(data), None
    if asked.methods is not None:
        chosen = tuple(
            options.one_of("--methods", name, METHODS, called_here()) for name in asked.methods
        )
    given = {"seed": asked.seed, "threads": asked.threads}
    known = {name: value for name, value in given.items() if value is not None}

    from sparsepath.cli import compare as job
    from sparsepath.cli import results
    from sparsepath.cli.reading import read

    if asked.out is not None:
        results.check_folder(asked.out)
        results.refuse_inputs([data], (asked.out / name for name in job.FILES))
    problem = read(_source(data, asked, asked.weights, asked.groups))
    limit = asked.budget
    if limit is not None:  # reading counts
        limit = max(limit - (time.perf_counter() - began), 1e-3)
    contest = job.ContestAsked(chosen, asked.task, asked.folds, limit, known)
    found = job.run(problem, contest, asked.quiet or asked.json)
    files = {} if asked.out is None else job.write(found, asked.out, data)
    if asked.json:
        import json

        print(json.dumps(job.document(found)))
    elif asked.quiet:
        print(found.sentence())
    else:
        job.show(found)
        list_files(files, job.FILES)


Anything = Annotated[
    Path, typer.Argument(metavar="DATA", help="A file, folder or pattern: 'data/*.parquet'.")
]


@asks(
    "target method=greedy-rls max-features cv=loo validation no-validation null stability drop "
    "rows missing=error dates=error sheet memory json"
)
def plan(data: Anything, asked: Any) -> None:
    """Tell what select would take, before it runs.

    For data in memory by one search and a few of its repetitions; for data that are read in passes
    by the speed of the first rows.
    """
    folds = _folds(asked)
    from sparsepath.cli import planned, streamed

    source = _source(data, asked)
    if not streamed.is_asked(data, asked.memory, None):
        given = {"max-features": asked.max_features, "cv": None if asked.cv == "loo" else asked.cv}
        given = {name: value for name, value in given.items() if value is not None}
        times = asked.null or 0, asked.stability or 0
        found = planned.in_memory(source, asked.method, given, folds, *times)
    else:
        _refuse_in_passes(asked, "null", "stability", "rows")
        parts, _ = streamed.opened(source, asked.memory)
        inner = asked.cv if isinstance(asked.cv, int) else None
        if isinstance(folds, str) and folds != "auto":
            raise InputError(f"--validation {folds} needs data in memory; give a number of folds.")
        outer = 10 if folds == "auto" else int(folds or 0)
        found = planned.in_passes(parts, asked.max_features or 30, inner, outer, asked.memory)
    if asked.json:
        print_document("plan", **found)
    else:
        print("\n".join(found["sentences"]))


def _source(
    data: Path,
    asked: Any,
    weights: str | None = None,
    groups: str | None = None,
    keep_index: bool | list[str] = False,
) -> Any:
    """What is asked of a file."""
    from sparsepath.cli.reading import TableSource

    names, sample = getattr(asked, "names", None), getattr(asked, "sample", None)
    given = (asked.target, asked.drop or [], asked.rows, weights, groups, keep_index)
    how = options.preparing(asked), options.writing(asked)
    return TableSource(data, *given, *how, names, sample)


def _refuse_in_passes(asked: Any, *names: str) -> None:
    """Refuse what is not done in passes."""
    if any(getattr(asked, name) for name in names):
        listed = [f"--{name}" for name in names]
        said = f"{', '.join(listed[:-1])} and {listed[-1]}"
        raise InputError(f"{said} need data in memory; leave them out.")


def _folds(asked: Any) -> str | int | None:
    """What is left out, of what two options say."""
    if asked.validation is None:
        return None if asked.no_validation else "auto"
    if asked.no_validation:
        raise InputError("--validation and --no-validation exclude each other; give one.")
    found: str | int = asked.validation
    return found
