"""All commands as one program. Heavy imports are delayed until a command runs."""

import time
from collections.abc import Callable
from contextlib import nullcontext, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import click

from sparsepath.cli.options import (
    DATA_FILES,
    LANGUAGES,
    OTHER_SELECTORS,
    Command,
    DescribedArgument,
    examples,
    format_list,
    list_of_methods,
    method_options,
    options,
)
from sparsepath.cli.output import data_file, list_files, naming_stdin, print_document, say
from sparsepath.cli.values import check_checkpoint, file_format, one_of
from sparsepath.errors import FileError, InputError
from sparsepath.methods import METHODS, called_here

EXIT_INTERRUPTED = 130
SHELLS = ("bash", "zsh", "fish")
DATA = ("data", "DATA", DATA_FILES)
MODEL = ("model", "MODEL", "model.json of sparsepath select.")
COLUMN_TYPES = ("categorical", "ordered", "date_format", "transform_target", "lags", "horizon")
FILE_FORMAT = "delimiter decimal encoding sheet"


def _show_version(context: click.Context, _: Any, wanted: bool) -> None:
    if wanted:
        from sparsepath import __version__

        print(f"sparsepath {__version__}")
        context.exit()


def _show_completion(context: click.Context, _: Any, shell: str | None) -> None:
    if shell is None:
        return
    from click.shell_completion import get_completion_class

    known = get_completion_class(one_of("--show-completion", shell, SHELLS))
    assert known is not None
    print(known(app, {}, "sparsepath", "_SPARSEPATH_COMPLETE").source())
    context.exit()


@click.group(
    name="sparsepath",
    help="Which few features, how many, and at what error.",
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=examples(
        "demo",
        "select data.csv --target price --out result",
        "predict result/model.json new.csv",
        then="Every command has its own examples: sparsepath select --help",
    ),
)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    callback=_show_version,
    is_eager=True,
    help="The version.",
)
@click.option(
    "--show-completion",
    metavar="SHELL",
    expose_value=False,
    callback=_show_completion,
    is_eager=True,
    help=f"Print the completion script for {', '.join(SHELLS)}.",
)
@click.pass_context
def app(context: click.Context) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


def command(
    arguments: list[tuple[str, str, str]], names: str, epilog: str, *, of_methods: bool = False
) -> Callable[[Callable[[Any], None]], Command]:
    """Make a command of a function: its arguments, and its options by name."""

    def made(function: Callable[[Any], None]) -> Command:
        parameters: list[click.Parameter] = [DescribedArgument(*each) for each in arguments]
        parameters += [*options(names), *(method_options() if of_methods else [])]
        text = function.__doc__
        job = Command(
            function.__name__, callback=function, params=parameters, help=text, epilog=epilog
        )
        app.add_command(job)
        return job

    return made


@command(
    [DATA],
    "target event method task=auto validation no-validation null stability coefficients fdr "
    "p-values drop rows keep-index missing=error dates=error date-format transform-target lags "
    f"horizon categorical ordered {FILE_FORMAT} names sample out memory dask resume "
    "model-format=json json quiet verbose",
    examples(
        "select data.csv --target price",
        "select data.csv --target price --out result --missing median",
        "select data.csv --target sick --method floating-rls --loss auc --null 99",
        "select data.csv --target months --event died --missing median",
        then=list_of_methods(),
    ),
    of_methods=True,
)
def select(arguments: Any) -> None:
    """Find the few features that matter, and how many to use.

    Prints the selected features, the error to expect on new data, a baseline and why this size;
    then for every number of features the best set found and its error.
    """
    data, given = data_file(arguments.data), arguments.of_method
    if arguments.resume:
        check_checkpoint(given.get("checkpoint"))
    validation = _validation(arguments)

    from sparsepath.cli import input as reading
    from sparsepath.cli import results
    from sparsepath.cli.estimator import SelectionRequest
    from sparsepath.cli.run_file import with_code
    from sparsepath.cli.select import select as job

    inputs = [data] if arguments.names is None else [data, arguments.names]
    if arguments.out is not None:
        results.check_folder(arguments.out)
        results.refuse_inputs(inputs, (arguments.out / name for name in results.FILES))
    if "checkpoint" in given:
        results.refuse_inputs(inputs, [given["checkpoint"]], "--checkpoint")
    # Columns that options name are features whatever they look like.
    named = [name for option in ("force", "forbid", "start") for name in given.get(option, ())]
    spec = _input_spec(
        data, arguments, given.get("weights"), given.get("groups"), arguments.keep_index or named
    )
    request = SelectionRequest(
        arguments.method or "",
        given,
        arguments.task,
        validation,
        arguments.null or 0,
        arguments.stability or 0,
        arguments.quiet or arguments.json,
        arguments.coefficients or 0,
        arguments.fdr,
        arguments.p_values,
    )
    if reading.needs_passes(data, arguments.memory, arguments.dask):
        refused = (
            "event",
            "rows",
            "sample",
            "names",
            "coefficients",
            "fdr",
            "p_values",
            *COLUMN_TYPES,
        )
        _refuse_in_passes(arguments, *refused)
        from sparsepath.data.cluster_client import cluster

        with cluster(arguments.dask) as client:
            outcome = job(reading.read_in_passes(spec, arguments.memory, client), request)
    else:
        outcome = job(reading.read(spec), request)
    _report(with_code(outcome, spec), arguments)


def _report(outcome: Any, arguments: Any) -> None:
    """Write the files first, then print the answer."""
    from sparsepath.cli import results
    from sparsepath.report import answer

    pickled = arguments.model_format == "joblib"
    more = {results.PICKLED: results.pickle_estimator(outcome.model)} if pickled else {}
    out = arguments.out
    files = results.write_results(outcome, out, more) if out is not None else {}
    for note in outcome.notes:
        warning = note.startswith("Warning: ")
        if warning or not arguments.quiet or outcome.interrupted:
            say(note if warning else f"Note: {note}")
    if arguments.json:
        print(results.document(outcome, files))
    elif arguments.quiet:
        print("\n".join(answer.lines(outcome)))
    else:
        answer.show(outcome, verbose=arguments.verbose)
        list_files(files, results.FILES | results.MORE_FILES, arguments.verbose)
    if outcome.interrupted:
        raise click.exceptions.Exit(EXIT_INTERRUPTED)


@command(
    [DATA],
    "target event methods task=auto folds=10 weights groups drop rows missing=error dates=error "
    f"date-format transform-target categorical ordered {FILE_FORMAT} names sample out budget "
    "seed threads json quiet",
    examples(
        "compare data.csv --target price",
        "compare data.csv --target price --methods greedy-rls,lars,elm-fs --seed 1",
        "compare data.csv --target price --budget 5min --out contest",
        "compare data.csv --target months --event died --missing median",
        then=list_of_methods(),
    ),
)
def compare(arguments: Any) -> None:
    """Compare several methods on the same held-out rows.

    For each the size to use, its error on new data, its time and its features; then what they
    agree on.
    """
    began = time.perf_counter()
    data, chosen = data_file(arguments.data), None
    if arguments.methods is not None:
        names = (*METHODS, *OTHER_SELECTORS)
        chosen = tuple(
            one_of("--methods", name, names, called_here()) for name in arguments.methods
        )
    given = {"seed": arguments.seed, "threads": arguments.threads}
    known = {name: value for name, value in given.items() if value is not None}

    from sparsepath.cli import compare as job
    from sparsepath.cli import results
    from sparsepath.cli.input import read

    if arguments.out is not None:
        results.check_folder(arguments.out)
        results.refuse_inputs([data], (arguments.out / name for name in job.FILES))
    problem = read(_input_spec(data, arguments, arguments.weights, arguments.groups))
    limit = arguments.budget
    if limit is not None:  # reading counts
        limit = max(limit - (time.perf_counter() - began), 1e-3)
    request = job.ComparisonRequest(chosen, arguments.task, arguments.folds, limit, known)
    found = job.run(problem, request, arguments.quiet or arguments.json)
    files = (
        {}
        if arguments.out is None
        else job.write(found, arguments.out, Path(naming_stdin(str(data))))
    )
    if arguments.json:
        import json

        print(json.dumps(job.document(found)))
    elif arguments.quiet:
        print(found.sentence())
    else:
        job.show(found)
        list_files(files, job.FILES)


@command(
    [MODEL, ("data", "DATA", f"{DATA_FILES}. Needs the columns of the model.")],
    f"out-table true-values event id rank-by rows size {FILE_FORMAT} json quiet",
    examples(
        "predict result/model.json new.csv",
        "predict result/model.json new.csv --out predictions.parquet",
        "predict result/model.json test.csv --target price --size 3",
        "predict result/model.json new.csv --id customer --rank-by probability_yes",
    ),
)
def predict(arguments: Any) -> None:
    """Predict with a saved model.

    CSV goes to stdout unless a file is named.
    """
    from sparsepath.cli import predict as job
    from sparsepath.cli import results

    model, out = arguments.model, arguments.out_table
    if out is not None:
        results.refuse_inputs([arguments.data, model, model.parent / "path.json"], [out])
    data = data_file(arguments.data)
    loaded = job.load_model(model, arguments.size)
    given = (arguments.rows, arguments.true_values, file_format(arguments), arguments.id)
    found = job.predict(loaded, job.PredictionInput(data, *given, event=arguments.event))
    if arguments.rank_by is not None:
        found = job.ranked(found, arguments.rank_by)
    job.write(found, out, arguments.json, arguments.quiet)


@command(
    [MODEL],
    "to size dtype out-file json",
    examples(
        "export result/model.json --to c --out model.c",
        "export result/model.json --to sql --size 2",
        "export result/model.json --to onnx --dtype float --out model.onnx",
        then=format_list("Languages:", LANGUAGES),
    ),
)
def export(arguments: Any) -> None:
    """Write a saved model as a program in another language."""
    import sys

    from sparsepath.cli import predict as job
    from sparsepath.cli import results

    model, to, out = arguments.model, arguments.to, arguments.out_file
    if out is not None:
        results.refuse_inputs([model, model.parent / "path.json"], [out])
    loaded = job.load_model(model, arguments.size)
    made = loaded.export(to, out, dtype=arguments.dtype)
    if out is None and isinstance(made, bytes) and (arguments.json or sys.stdout.isatty()):
        raise InputError(f"{to} is a binary format; name a file with --out.")
    if arguments.json:
        print_document(
            "export",
            language=to,
            size=len(loaded.selected_),
            file=None if out is None else str(out),
            program=made if out is None else None,
        )
    elif out is not None:
        print(f"Written: {out}")
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(made if isinstance(made, bytes) else made.encode())


@command(
    [("path", "PATH", "path.json of sparsepath select.")],
    "page=index.html size json",
    examples(
        "report result/path.json",
        "report result/path.json --out page.html",
        "report result/path.json --size 4 --out four.html",
    ),
)
def report(arguments: Any) -> None:
    """Write the HTML report of a saved path."""
    from sparsepath.cli import results
    from sparsepath.path.selection_path import SelectionPath
    from sparsepath.report import page, sentences, summary
    from sparsepath.system.files import replacing

    path, out = arguments.path, arguments.page
    results.refuse_inputs([path], [out])
    if path.is_dir():
        inside = path / "path.json"
        there = f"give {inside}" if inside.is_file() else "give the path.json of sparsepath select"
        raise FileError(f"{path} is a folder; {there}.")
    found = SelectionPath.load(path)
    chosen = found.choose("one_se" if arguments.size is None else arguments.size)
    answer = sentences(found, chosen)
    made = summary(found, title=f"Which few features: {path}", answer=answer, chosen=chosen)
    with replacing(out) as stream:
        stream.write(page(made))
    if arguments.json:
        print_document("report", file=str(out), size=chosen, answer=answer)
    else:
        print(f"Written: {out}")


@command(
    [("file", "FILE", "run.toml of an earlier result.")],
    "out dask anyway json",
    examples(
        "run result/run.toml", "run result/run.toml --out again", "run contest/run.toml --anyway"
    ),
)
def run(arguments: Any) -> None:
    """Repeat a run and check that the result is the same.

    The result takes the place of the earlier one, beside the run file, or is written to --out DIR.
    """
    from sparsepath.cli.run_file import again

    with redirect_stdout(StringIO()) if arguments.json else nullcontext():
        done, same = again(
            arguments.file, app.commands, arguments.out, arguments.dask, arguments.anyway
        )
    if arguments.json:
        print_document("rerun", file=str(arguments.file), command=done, same=same)
    else:
        say("The result is the same." if same else "The result is not the same as it was.")


@command(
    [("data", "DATA", "A file, folder or pattern: 'data/*.parquet'.")],
    "target method max-features cv validation no-validation null stability drop "
    "rows missing=error dates=error sheet memory json",
    examples(
        "plan data.csv --target price",
        "plan data.csv --target price --method elm-fs --null 99 --stability 50",
        "plan 'data/*.parquet' --target price --memory 2GB",
        then=list_of_methods(),
    ),
)
def plan(arguments: Any) -> None:
    """Estimate the run time of select before it runs.

    The search does not run: its time follows from the shape of the data, or, for data that are read
    in passes, from the speed of reading the first rows.
    """
    validation = _validation(arguments)
    from sparsepath.assessment import plan as plan_in_memory
    from sparsepath.assessment.planning_in_passes import plan_in_passes
    from sparsepath.cli import input as reading
    from sparsepath.cli.estimator import SelectionRequest, build

    data, cv = arguments.data, arguments.cv
    spec = _input_spec(data, arguments)
    if not reading.needs_passes(data, arguments.memory, None):
        given = {"max-features": arguments.max_features, "cv": cv}
        given = {name: value for name, value in given.items() if value is not None}
        problem = reading.read(spec)
        times = {"null": arguments.null or 0, "stability": arguments.stability or 0}
        request = SelectionRequest(
            arguments.method or "",
            given,
            validation=validation,
            null=times["null"],
            halves=times["stability"],
        )
        model = build(problem, request)
        X, y, extras = problem.fit_arguments
        planned = plan_in_memory(model.model, X, y, **times, **extras)
        searches, seconds = planned.times, planned.seconds
        rows, columns = problem.table.X.shape
        sentences = [f"{data}: {rows:,} rows x {columns:,} columns. {planned.sentence()}"]
    else:
        _refuse_in_passes(arguments, "null", "stability", "rows")
        problem = reading.read_in_passes(spec, arguments.memory)
        build(problem, SelectionRequest(arguments.method or "", {}))  # what select refuses
        if isinstance(validation, str) and validation != "auto":
            raise InputError(
                f"--validation {validation} needs data in memory; give a number of folds."
            )
        inner = cv if isinstance(cv, int) else None
        outer = 10 if validation == "auto" else int(validation or 0)
        source, steps = problem.table.X, arguments.max_features or 30
        searches, seconds, sentences = plan_in_passes(source, steps, inner, outer, arguments.memory)
        (rows, columns), data = source.shape, source.where
    found = {
        "source": str(data),
        "n_samples": rows,
        "n_features": columns,
        "searches": searches,
        "seconds": seconds,
        "sentences": sentences,
    }
    if arguments.json:
        print_document("plan", **found)
    else:
        print("\n".join(found["sentences"]))


@command(
    [],
    "out=demo-result",
    examples(
        "demo",
        "demo --out somewhere",
        "select demo-result/diabetes.csv --target progression --choose 4",
    ),
)
def demo(arguments: Any) -> None:
    """Run select and compare on bundled diabetes data."""
    from sparsepath.cli import compare as job
    from sparsepath.cli import results
    from sparsepath.report import answer

    results.check_folder(arguments.out)
    job.refuse_others(arguments.out)
    outcome, found = job.demo(arguments.out)
    files = job.write_demo(outcome, found, arguments.out)
    answer.show(outcome)
    if found is not None:
        print("\nThe same data by several methods (sparsepath compare).")
        job.show(found)
    list_files(files, results.FILES | results.MORE_FILES)
    print(f"\nTo explore, open {files['index.html']} in a browser.")
    print(f"Next, try: sparsepath select {files['diabetes.csv']} --target {job.TARGET} --choose 4")


def _input_spec(
    data: Path,
    arguments: Any,
    weights: str | None = None,
    groups: str | None = None,
    keep_index: bool | list[str] = False,
) -> Any:
    """Return the specification of the input."""
    from sparsepath.cli.input import InputSpec, TableOptions

    names, sample = getattr(arguments, "names", None), getattr(arguments, "sample", None)
    given = (arguments.target, arguments.drop or [], arguments.rows, weights, groups, keep_index)
    types: dict[str, Any] = {name: getattr(arguments, name, None) for name in COLUMN_TYPES}
    types = {name: value for name, value in types.items() if value is not None}
    policy = TableOptions(arguments.missing, arguments.dates, **types)
    how = policy, file_format(arguments)
    event = getattr(arguments, "event", None)
    return InputSpec(data, *given, *how, names, sample, event)


def _refuse_in_passes(arguments: Any, *names: str) -> None:
    """Refuse what is not done in passes."""
    if any(getattr(arguments, name) for name in names):
        flags = [f"--{name.replace('_', '-')}" for name in names]
        raise InputError(
            f"{', '.join(flags[:-1])} and {flags[-1]} need data in memory; leave them out."
        )


def _validation(arguments: Any) -> str | int | None:
    """Return the validation from two options."""
    if arguments.validation is None:
        return None if arguments.no_validation else "auto"
    if arguments.no_validation:
        raise InputError("--validation and --no-validation exclude each other; give one.")
    found: str | int = arguments.validation
    return found
