"""All commands as one program. Heavy imports wait until a command runs."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from sparsepath.cli import searching, using
from sparsepath.cli.options import OUTPUT
from sparsepath.cli.streams import list_files, print_document, say
from sparsepath.cli.teaching import Taught, asks, examples, list_of_methods, stoppable

app = typer.Typer(
    name="sparsepath",
    help="Which few features, how many, and at what error.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help fits narrow terminals better, and is quicker
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=examples(
        "demo",
        "select data.csv --target price --out result",
        "predict result/model.json new.csv",
        then="Every command has its own examples: sparsepath select --help",
    ),
)


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


@asks("anyway json")
def run(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="run.toml of an earlier result.")],
    asked: Any,
) -> None:
    """Repeat a run exactly, and say whether its result is the same."""
    from contextlib import nullcontext, redirect_stdout
    from io import StringIO

    from sparsepath.cli.rerun import again

    with redirect_stdout(StringIO()) if asked.json else nullcontext():
        command, same = again(
            file, asked.anyway, lambda command: app(args=command, standalone_mode=False)
        )
    if asked.json:
        print_document("rerun", file=str(file), command=command, same=same)
    else:
        say("The result is the same." if same else "The result is not the same as it was.")


@stoppable()
def demo(
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder for the files.", rich_help_panel=OUTPUT)
    ] = Path("demo-result"),
) -> None:
    """Select from diabetes data, and compare methods on them: tables, plots and web pages."""
    from sparsepath.cli import compare, results, show
    from sparsepath.cli import demo as job

    results.check_folder(out)
    job.refuse_others(out)
    outcome, found = job.solve(out)
    files = job.write_demo(outcome, found, out)
    show.show(outcome)
    if found is not None:
        print("\nThe same data by several methods (sparsepath compare).")
        compare.show(found)
    list_files(files, results.FILES | results.MORE_FILES)
    print(f"\nTo explore, open {files['index.html']} in a browser.")
    print(f"Next, try: sparsepath select {files['diabetes.csv']} --target {job.TARGET} --choose 4")


COMMANDS: dict[Callable[..., None], str] = {
    searching.select: examples(
        "select data.csv --target price",
        "select data.csv --target price --out result --missing median",
        "select data.csv --target sick --method floating-rls --loss auc --null 99",
        then=list_of_methods(),
    ),
    searching.compare: examples(
        "compare data.csv --target price",
        "compare data.csv --target price --methods greedy-rls,lars,elm-fs --seed 1",
        "compare data.csv --target price --budget 5min --out contest",
        then=list_of_methods(),
    ),
    using.predict: examples(
        "predict result/model.json new.csv",
        "predict result/model.json new.csv --out predictions.parquet",
        "predict result/model.json test.csv --target price --size 3",
    ),
    using.export: examples(
        "export result/model.json --to c --out model.c",
        "export result/model.json --to sql --size 2",
        "export result/model.json --to onnx --dtype float --out model.onnx",
        then=using.list_of_languages(),
    ),
    using.report: examples(
        "report result/path.json",
        "report result/path.json --out page.html",
        "report result/path.json --size 4 --out four.html",
    ),
    run: examples(
        "run result/run.toml", "run result/run.toml --anyway", "run contest/run.toml --json"
    ),
    searching.plan: examples(
        "plan data.csv --target price",
        "plan data.csv --target price --method elm-fs --null 99 --stability 50",
        "plan 'data/*.parquet' --target price --memory 2GB",
        then=list_of_methods(),
    ),
    demo: examples(
        "demo",
        "demo --out somewhere",
        "select demo-result/diabetes.csv --target progression --choose 4",
    ),
}
for command, below in COMMANDS.items():
    app.command(cls=Taught, epilog=below)(command)
