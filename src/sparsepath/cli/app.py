"""The commands and their options. Heavy imports wait until a command runs."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from sparsepath.cli import options
from sparsepath.cli.methods import CALLED_HERE, METHODS, help_text
from sparsepath.cli.say import say
from sparsepath.errors import InputError

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
_COLUMNS = "A,B"
_ROWS = "Rows to use, such as split=train or split!=test."


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


@app.command(epilog=help_text())
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
    max_features: Annotated[
        str | None,
        typer.Option(metavar="K", show_default="all, at most 100", help="Where the path ends."),
    ] = None,
    alpha: Annotated[
        str | None,
        typer.Option(
            metavar="A",
            help="Ridge penalty: a number, several between commas (the best is used), or loo "
            "(chosen with all features).",
            show_default="1",
        ),
    ] = None,
    loss: Annotated[
        str | None,
        typer.Option(metavar="NAME", show_default="squared", help=f"{', '.join(options.LOSSES)}."),
    ] = None,
    choose: Annotated[
        str | None,
        typer.Option(
            metavar="RULE",
            help="Size to use: one_se (smallest within one standard error of the least error), "
            "min, a number of features, or a fraction of the least error such as 0.05.",
            show_default="one_se; without validation min if the error is a training error",
        ),
    ] = None,
    validation: Annotated[
        str | None,
        typer.Option(
            metavar="N",
            help="Folds that are left out of the whole procedure for the error on new data, by "
            "which the size is chosen.",
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
    task: Annotated[str, typer.Option(help=f"{', '.join(options.TASKS)}.", metavar="T")] = "auto",
    cv: Annotated[
        str | None,
        typer.Option(
            metavar="N",
            show_default="loo; 5 for grafting and rbf",
            help="loo, or a number of folds.",
        ),
    ] = None,
    search: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help=f"Search of greedy-rls and rank-rls: {', '.join(options.SEARCHES)}.",
            show_default="forward",
        ),
    ] = None,
    standardize: Annotated[
        bool | None,
        typer.Option(
            "--standardize/--no-standardize",
            help="Penalise as if all columns had unit variance.",
            show_default="standardize",
        ),
    ] = None,
    l1: Annotated[
        str | None,
        typer.Option("--l1", metavar="A", help="L1 penalty of grafting, instead of many."),
    ] = None,
    l2: Annotated[
        str | None, typer.Option("--l2", metavar="A", help="L2 penalty of grafting.")
    ] = None,
    l0: Annotated[
        str | None, typer.Option("--l0", metavar="A", help="L0 penalty of grafting.")
    ] = None,
    max_hidden: Annotated[
        str | None,
        typer.Option(metavar="N", help="Most hidden units of mlp-grafting.", show_default="50"),
    ] = None,
    r: Annotated[
        str | None,
        typer.Option("--r", metavar="A", help="Budget of rbf for coefficients, instead of many."),
    ] = None,
    t: Annotated[
        str | None,
        typer.Option("--t", metavar="A", help="Budget of rbf for inputs, instead of many."),
    ] = None,
    strategy: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help=f"Search of elm-fs: {', '.join(options.STRATEGIES)}.",
            show_default="both",
        ),
    ] = None,
    restarts: Annotated[
        str | None,
        typer.Option(
            metavar="N",
            help="Random starts of elm-fs and mi-forward-backward.",
            show_default="100",
        ),
    ] = None,
    seed: Annotated[
        str | None,
        typer.Option(metavar="N", help="Seed of methods that draw.", show_default="0"),
    ] = None,
    force: Annotated[
        str | None, typer.Option(metavar=_COLUMNS, help="Features that every model has.")
    ] = None,
    forbid: Annotated[
        str | None, typer.Option(metavar=_COLUMNS, help="Features that no model has.")
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(metavar=_COLUMNS, help="Features to start from; they may be dropped again."),
    ] = None,
    significance: Annotated[
        str | None,
        typer.Option(
            metavar="P",
            help="Stop when the best feature left is not significant at this level (max-T).",
        ),
    ] = None,
    drop: Annotated[
        str | None, typer.Option(metavar=_COLUMNS, help="Columns not to read as features.")
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
    weights: Annotated[
        str | None, typer.Option(metavar="COL", help="Column of sample weights.")
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(
            metavar="COL",
            help="Column of groups; the folds of --cv and --validation keep them whole, loo "
            "leaves out a group at a time. For rank-rls: the queries.",
            show_default="10 folds; loo for rank-rls",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write the path, its plots and the model to this folder."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document instead.")] = False,
    threads: Annotated[
        str | None, typer.Option(metavar="N", show_default="one per core", help="Threads.")
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Keep progress here, and go on from it if it is there."),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print the recommendation only.")] = False,
) -> None:
    """Find the few features that matter, and how many to use.

    For every number of features the best set found and its error, as a table; then a
    recommendation.
    """
    method = options.one_of("--method", method, METHODS, CALLED_HERE)
    asked = options.one_of("--task", task, options.TASKS)
    typed = {
        "max-features": (max_features, options.count),
        "alpha": (alpha, options.alpha),
        "loss": (loss, options.loss),
        "choose": (choose, options.choose),
        "cv": (cv, options.cv),
        "search": (search, options.search),
        "l1": (l1, options.penalty),
        "l2": (l2, options.penalty),
        "l0": (l0, options.penalty),
        "max-hidden": (max_hidden, options.count),
        "r": (r, options.budget),
        "t": (t, options.budget),
        "strategy": (strategy, options.strategy),
        "restarts": (restarts, options.count),
        "seed": (seed, options.seed),
        "force": (force, options.names),
        "forbid": (forbid, options.names),
        "start": (start, options.names),
        "significance": (significance, options.level),
        "threads": (threads, options.count),
    }
    given: dict[str, Any] = {
        **{
            name: None if text is None else parse(f"--{name}", text)
            for name, (text, parse) in typed.items()
        },
        "standardize": standardize,
        "checkpoint": checkpoint,
        "weights": weights,
        "groups": groups,
    }
    given = {name: value for name, value in given.items() if value is not None}
    dropped = [] if drop is None else options.names("--drop", drop)
    wanted = None if rows is None else options.rows("--rows", rows)
    folds: str | int | None = None if no_validation else "auto"
    if validation is not None:
        folds = options.folds("--validation", validation)
        if no_validation:
            raise InputError("--validation and --no-validation exclude each other; give one.")
    times = 0 if null is None else options.shuffles("--null", null)
    halves = 0 if stability is None else options.halves("--stability", stability)

    from sparsepath.cli import results
    from sparsepath.cli import select as job
    from sparsepath.cli.settling import Asked

    if out is not None:
        results.check_folder(out)
        results.refuse_inputs([data], (out / name for name in results.FILES))
    kept = [name for option in ("force", "forbid", "start") for name in given.get(option, ())]
    source = job.Source(data, target, dropped, wanted, weights, groups, keep_index or kept)
    problem = job.read(source)
    judging = Asked(validation=folds, null=times, halves=halves)
    outcome = job.search(
        problem, given, method=method, asked=asked, judging=judging, quiet=quiet or json
    )
    _report(outcome, out, as_json=json, quiet=quiet)


def _report(outcome: Any, out: Path | None, *, as_json: bool, quiet: bool) -> None:
    """Write the files first, then say what there is."""
    from sparsepath.cli import results, show

    files = results.write_results(outcome, out) if out is not None else {}
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


def _list_files(files: dict[str, Path]) -> None:
    from sparsepath.cli.results import FILES, MORE_FILES

    if files:
        print("\nWritten:")
    width = max((len(str(file)) for file in files.values()), default=0)
    for name, file in files.items():
        print(f"  {file!s:{width}}  {(FILES | MORE_FILES)[name]}")


@app.command()
@_stoppable()
def predict(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL", help="model.joblib of sparsepath select. Load only files you trust."
        ),
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
    found = job.predict(job.load_model(model), job.Asked(data, wanted, target))
    job.write(found, out, json, quiet)


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
