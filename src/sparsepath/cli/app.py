"""The commands and their options. Heavy imports wait until a command runs."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from sparsepath.cli import options
from sparsepath.cli.say import say
from sparsepath.errors import InputError
from sparsepath.methods import METHODS, called_here

INTERRUPTED = 130

app = typer.Typer(
    name="sparsepath",
    help="Which few features, how many, and at what error.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help fits narrow terminals better, and is quicker
    context_settings={"help_option_names": ["-h", "--help"]},
)

_DATA = "CSV, Parquet, svmlight, npy or npz file"
_SIZE = "Model of this many features, instead of the one recommended."
_ROWS = "Rows to use, such as split=train or split!=test."


def _languages() -> str:
    """For the help, without loading what writes them."""
    return (
        "Languages: c (one C99 file, no allocation), javascript (one function), python (one "
        "module), sql (one expression, SQLite and DuckDB), onnx (a graph; needs the onnx package), "
        "json (the formula as plain data)."
    )


class InterruptError(Exception):
    """Ctrl-C before there was anything to keep."""


@contextmanager
def _stoppable() -> Iterator[None]:
    """Take Ctrl-C to ``main``; some versions of typer would end without a word."""
    try:
        yield
    except KeyboardInterrupt as error:
        raise InterruptError from error


def _show_version(wanted: bool) -> None:
    if wanted:
        from sparsepath import __version__

        print(f"sparsepath {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _start(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="The version.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


Command = TypeVar("Command", bound=Callable[..., None])


def _with_options(command: Command) -> Command:
    """Give a command the options of all methods, in the place of its last parameter."""
    own = list(inspect.signature(command).parameters.values())[:-1]
    every = [*own, *options.parameters()]
    command.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in every}
    return command


def _list_of_methods() -> str:
    width = max(map(len, METHODS))
    lines = [f"  {name:{width}}  {method.summary}" for name, method in METHODS.items()]
    return "\n".join(["\b", "Methods:", *lines])


@app.command(epilog=_list_of_methods())
@_with_options
@_stoppable()
def select(
    data: Annotated[Path, typer.Argument(metavar="DATA", help=_DATA)],
    target: Annotated[
        str | None,
        typer.Option(
            metavar="COL",
            help="Column to predict, by name or position (-1: the last). Needed, but for svmlight.",
        ),
    ] = None,
    method: Annotated[
        str, typer.Option(metavar="NAME", help="How to search, see below.")
    ] = "greedy-rls",
    task: Annotated[str, typer.Option(help=f"{', '.join(options.TASKS)}.", metavar="T")] = "auto",
    validation: Annotated[
        str | None,
        typer.Option(
            metavar="N",
            help="Folds that are left out of the whole procedure for the error on new data, by "
            "which the size is chosen; loo: one row at a time.",
            show_default="10; 5 for nonlinear methods",
        ),
    ] = None,
    no_validation: Annotated[
        bool,
        typer.Option("--no-validation", help="Leave nothing out: quicker, and no honest error."),
    ] = False,
    null: Annotated[
        str | None,
        typer.Option(
            metavar="N", help="Repeat the search N times with the target shuffled: a p-value."
        ),
    ] = None,
    stability: Annotated[
        str | None,
        typer.Option(
            metavar="N", help="Repeat the search on N halves: which features are chosen again."
        ),
    ] = None,
    drop: Annotated[
        str | None, typer.Option(metavar="A,B", help="Columns not to read as features.")
    ] = None,
    rows: Annotated[
        str | None,
        typer.Option(metavar="COL=VALUE", help=_ROWS),
    ] = None,
    keep_index: Annotated[
        bool,
        typer.Option(
            "--keep-index",
            help="Take columns that only number the rows (a first column without a name, or one "
            "that counts 0, 1, 2, ...) as features.",
        ),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write the path, its plots and the model to this folder."),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Read the data in passes, within this much memory: 2GB, for larger files.",
        ),
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Let a Dask cluster read the data; or 'local'."),
    ] = None,
    model_format: Annotated[
        str,
        typer.Option(
            metavar="F",
            help="json: models as plain data; joblib: the estimator beside it, as a pickle.",
        ),
    ] = "json",
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document instead.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print the recommendation only.")] = False,
    **asked_of_method: Any,
) -> None:
    """Find the few features that matter, and how many to use.

    For every number of features the best set found and its error, as a table; then a
    recommendation.
    """
    form = options.one_of("--model-format", model_format, ("json", "joblib"))
    method = options.one_of("--method", method, METHODS, called_here())
    asked = options.one_of("--task", task, options.TASKS)
    given = {
        name.replace("_", "-"): options.value(name.replace("_", "-"), value)
        for name, value in asked_of_method.items()
        if value is not None
    }
    dropped = [] if drop is None else options.names("--drop", drop)
    wanted = None if rows is None else options.rows("--rows", rows)
    folds = _folds(validation, no_validation)
    times = 0 if null is None else options.shuffles("--null", null)
    halves = 0 if stability is None else options.halves("--stability", stability)

    from sparsepath.cli import results
    from sparsepath.cli import select as job
    from sparsepath.cli.settling import SelectionAsked

    if out is not None:
        results.check_folder(out)
        results.refuse_inputs([data], (out / name for name in results.FILES))
    limit = None if memory is None else options.size("--memory", memory)
    from sparsepath.cli import streamed

    if streamed.is_asked(data, limit, dask):
        if times or halves or wanted is not None:
            raise InputError("--null, --stability and --rows need data in memory; leave them out.")
        parts = streamed.opened(data, target, dropped, given.get("weights"), limit)
        with streamed.cluster(dask) as client:
            outcome = streamed.search(
                parts,
                given,
                method=method,
                asked=asked,
                validation=folds,
                memory=limit,
                client=client,
                quiet=quiet or json,
            )
        _report(outcome, out, as_json=json, quiet=quiet, pickled=form == "joblib")
        return
    kept = [name for option in ("force", "forbid", "start") for name in given.get(option, ())]
    source = job.TableSource(
        data,
        target,
        dropped,
        wanted,
        given.get("weights"),
        given.get("groups"),
        keep_index or kept,
    )
    problem = job.read(source)
    judging = SelectionAsked(validation=folds, null=times, halves=halves)
    outcome = job.search(
        problem, given, method=method, asked=asked, judging=judging, quiet=quiet or json
    )
    _report(outcome, out, as_json=json, quiet=quiet, pickled=form == "joblib")


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
        _list_files(files)
    if outcome.interrupted:
        raise typer.Exit(INTERRUPTED)


def _list_files(files: dict[str, Path], about: dict[str, str] | None = None) -> None:
    from sparsepath.cli.results import FILES, MORE_FILES

    about = FILES | MORE_FILES if about is None else about
    if files:
        print("\nWritten:")
    width = max((len(str(file)) for file in files.values()), default=0)
    for name, file in files.items():
        print(f"  {file!s:{width}}  {about[name]}")


@app.command(epilog=_list_of_methods())
@_stoppable()
def compare(
    data: Annotated[Path, typer.Argument(metavar="DATA", help=_DATA)],
    target: Annotated[
        str | None,
        typer.Option(
            metavar="COL",
            help="Column to predict, by name or position (-1: the last). Needed, but for svmlight.",
        ),
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="Methods to compare, see below.",
            show_default="those that suit the task and the size",
        ),
    ] = None,
    task: Annotated[str, typer.Option(help=f"{', '.join(options.TASKS)}.", metavar="T")] = "auto",
    validation: Annotated[
        str, typer.Option(metavar="N", help="Folds that are left out, the same for all; or loo.")
    ] = "10",
    budget: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Such as 90s, 5min or 1h: methods that would not be done by then are passed over.",
        ),
    ] = None,
    weights: Annotated[str | None, typer.Option(metavar="COL", help="Column of weights.")] = None,
    groups: Annotated[
        str | None, typer.Option(metavar="COL", help="Column of groups; folds keep them whole.")
    ] = None,
    drop: Annotated[
        str | None, typer.Option(metavar="A,B", help="Columns not to read as features.")
    ] = None,
    rows: Annotated[str | None, typer.Option(metavar="COL=VALUE", help=_ROWS)] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write table and picture to this folder.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document instead.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print the sentence only.")] = False,
) -> None:
    """Judge several methods on the same rows left out.

    For each the size to use, its error on new data, its time and its features; then what they
    agree on.
    """
    asked = options.one_of("--task", task, options.TASKS)
    folds = options.folds("--validation", validation)
    names = None
    if methods is not None:
        given = options.names("--methods", methods)
        names = tuple(options.one_of("--methods", m, METHODS, called_here()) for m in given)
    limit = None if budget is None else options.duration("--budget", budget)
    dropped = [] if drop is None else options.names("--drop", drop)
    wanted = None if rows is None else options.rows("--rows", rows)

    from sparsepath.cli import compare as job
    from sparsepath.cli import results
    from sparsepath.cli.select import TableSource, read

    if out is not None:
        results.check_folder(out)
        results.refuse_inputs([data], (out / name for name in job.FILES))
    problem = read(TableSource(data, target, dropped, wanted, weights, groups))
    found = job.run(problem, job.ContestAsked(names, asked, folds, limit), quiet or json)
    files = {} if out is None else job.write(found, out)
    if json:
        import json as encoder

        print(encoder.dumps(job.document(found)))
    elif quiet:
        print(found.sentence())
    else:
        job.show(found)
        _list_files(files, job.FILES)


@app.command()
@_stoppable()
def predict(
    model: Annotated[
        Path,
        typer.Argument(metavar="MODEL", help="model.json of sparsepath select."),
    ],
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help=f"{_DATA}, with the columns the model uses.")
    ],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write to this .csv, .parquet or .npy file.")
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(metavar="COL", help="Column of the true values: print the error too."),
    ] = None,
    rows: Annotated[str | None, typer.Option(metavar="COL=VALUE", help=_ROWS)] = None,
    size: Annotated[str | None, typer.Option(metavar="K", help=_SIZE)] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="Print what was asked for, and no word more.")
    ] = False,
) -> None:
    """Predict with a saved model.

    CSV goes to stdout unless a file is named.
    """
    wanted = None if rows is None else options.rows("--rows", rows)

    from sparsepath.cli import predict as job
    from sparsepath.cli import results

    if out is not None:
        beside = model.parent / "path.json"
        results.refuse_inputs([data, model, beside], [out])
    loaded = job.load_model(model, None if size is None else options.whole("--size", size))
    found = job.predict(loaded, job.PredictionAsked(data, wanted, target))
    job.write(found, out, json, quiet)


@app.command(epilog=_languages())
@_stoppable()
def export(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="model.json of sparsepath select.")
    ],
    to: Annotated[str, typer.Option(metavar="NAME", help="The language, see below.")],
    size: Annotated[str | None, typer.Option(metavar="K", help=_SIZE)] = None,
    dtype: Annotated[
        str | None, typer.Option(metavar="T", show_default="double", help="double or float: onnx.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write here instead of to stdout.")
    ] = None,
) -> None:
    """Write a saved model as a program that needs no sparsepath."""
    import sys

    from sparsepath.cli import predict as job
    from sparsepath.cli import results
    from sparsepath.export import FORMATS

    to = options.one_of("--to", to, FORMATS)
    if out is not None:
        results.refuse_inputs([model, model.parent / "path.json"], [out])
    loaded = job.load_model(model, None if size is None else options.whole("--size", size))
    made = loaded.export(to, out, dtype=dtype)
    if out is not None:
        print(f"Written: {out}")
        return
    if isinstance(made, bytes) and sys.stdout.isatty():
        raise InputError(f"{to} is no text for a terminal; name a file with --out.")
    sys.stdout.flush()
    sys.stdout.buffer.write(made if isinstance(made, bytes) else made.encode())


@app.command()
@_stoppable()
def report(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="path.json of sparsepath select.")],
    size: Annotated[str | None, typer.Option(metavar="K", help=_SIZE)] = None,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The page.")] = Path("index.html"),
) -> None:
    """Write the page of a path: sizes, errors and features, to explore in a browser."""
    from sparsepath.cli import results
    from sparsepath.files import replacing
    from sparsepath.path import SelectionPath
    from sparsepath.report import page, summary, told

    results.refuse_inputs([path], [out])
    found = SelectionPath.load(path)
    rule: Any = "one_se" if size is None else options.whole("--size", size)
    chosen = found.choose(rule)
    made = summary(
        found, title=f"Which few features: {path}", answer=told(found, chosen), chosen=chosen
    )
    with replacing(out) as stream:
        stream.write(page(made))
    print(f"Written: {out}")


@app.command()
@_stoppable()
def plan(
    data: Annotated[
        Path,
        typer.Argument(metavar="DATA", help="A file, folder or pattern: 'data/*.parquet'."),
    ],
    target: Annotated[
        str | None, typer.Option(metavar="COL", help="Column to predict, by name.")
    ] = None,
    method: Annotated[str, typer.Option(metavar="NAME", help="As for select.")] = "greedy-rls",
    max_features: Annotated[
        str | None,
        typer.Option(metavar="K", help="Steps of the search.", show_default="as for select"),
    ] = None,
    cv: Annotated[str, typer.Option(metavar="CV", help="As for select: loo, or folds.")] = "loo",
    validation: Annotated[
        str | None, typer.Option(metavar="N", help="As for select.", show_default="as there")
    ] = None,
    no_validation: Annotated[
        bool, typer.Option("--no-validation", help="Without the honest error.")
    ] = False,
    null: Annotated[str | None, typer.Option(metavar="N", help="As for select.")] = None,
    stability: Annotated[str | None, typer.Option(metavar="N", help="As for select.")] = None,
    memory: Annotated[str | None, typer.Option(metavar="SIZE", help="As for select: 2GB.")] = None,
) -> None:
    """Tell what select would take, before it runs.

    For data in memory by one search and a few of its repetitions; for data that are read in passes
    by the speed of the first rows.
    """
    method = options.one_of("--method", method, METHODS, called_here())
    steps = None if max_features is None else options.count("--max-features", max_features)
    splits = options.cv("--cv", cv)
    folds = _folds(validation, no_validation)
    times = 0 if null is None else options.shuffles("--null", null)
    halves = 0 if stability is None else options.halves("--stability", stability)
    limit = None if memory is None else options.size("--memory", memory)
    from sparsepath.cli import planned, streamed

    if not streamed.is_asked(data, limit, None):
        given = {"max-features": steps, "cv": None if splits == "loo" else splits}
        given = {name: value for name, value in given.items() if value is not None}
        print(planned.in_memory(data, target, method, given, folds, times, halves))
        return
    if times or halves:
        raise InputError("--null and --stability need data in memory; leave them out.")
    source = streamed.opened(data, target, [], None, limit)
    inner = splits if isinstance(splits, int) else None
    repeats = {"auto": 10, None: 0, "loo": source.shape[0]}
    outer = repeats[folds] if folds in repeats else int(folds)  # type: ignore[arg-type]
    for line in planned.in_passes(source, steps or 30, inner, outer, limit):
        print(line)


def _folds(validation: str | None, none: bool) -> str | int | None:
    """What is left out, of what two options say."""
    if validation is None:
        return None if none else "auto"
    if none:
        raise InputError("--validation and --no-validation exclude each other; give one.")
    return options.folds("--validation", validation)


@app.command()
@_stoppable()
def demo(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the files.")] = Path(
        "demo-result"
    ),
) -> None:
    """Select from diabetes data; table, plots and a web page."""
    from sparsepath.cli import demo as job
    from sparsepath.cli import results, show

    results.check_folder(out)
    job.refuse_others(out)
    outcome = job.solve(out)
    files = job.write_demo(outcome, out)
    show.show(outcome)
    _list_files(files)
    print(
        f"\nNext, try: sparsepath select {files['diabetes.csv']} --target {job.TARGET} --choose 4"
    )
