"""Options as click objects: those of the commands, and those of all methods from their table."""

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, NamedTuple

import click

from sparsepath.cli.values import TASKS, read
from sparsepath.methods import METHODS, having
from sparsepath.methods import OPTIONS as METHOD_OPTIONS

DATA, SEARCH, HONEST, OUTPUT, RUNNING = "Data", "Search", "Honest error", "Output", "Running"
GROUPS = {  # of options of methods in the help; the others belong to the search
    **dict.fromkeys(("weights", "groups", "class-weight", "threshold"), DATA),
    **dict.fromkeys(("seed", "threads", "checkpoint"), RUNNING),
}
# Without loading what makes them.
OTHER_SELECTORS = ("boruta", "forest-importance", "rfecv", "univariate-cox", "cox-all")
DATA_FILES = "CSV, Parquet, Feather, JSON, Excel, svmlight, npy or npz file; - for CSV from stdin"


class InterruptError(Exception):
    """Ctrl-C before there was anything to keep."""


class ValueType(click.ParamType):  # type: ignore[type-arg]
    """Click type of a value that a function in ``values.py`` parses."""

    name = "value"

    def __init__(self, kind: str = "", values: tuple[str, ...] = ()) -> None:
        self.kind, self.values = kind, values

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Read a value; defaults of commands are typed too."""
        if not isinstance(value, str):
            return value
        flag = str(param.metavar) if isinstance(param, click.Argument) else param.opts[0]
        return read(flag, self.kind, value, self.values)

    def shell_complete(self, ctx: Any, param: Any, incomplete: str) -> list[Any]:
        """Values that a shell may complete."""
        from click.shell_completion import CompletionItem

        found = [value for value in self.values if value.startswith(incomplete)]
        return [CompletionItem(value) for value in found]


class GroupedOption(click.Option):
    """Option in a group of the help, possibly limited to some methods."""

    def __init__(
        self, *arguments: Any, group: str, of_method: bool = False, shown: str = "", **more: Any
    ) -> None:
        more["help"] += f"  [default: {shown}]" if shown else ""
        super().__init__(*arguments, **more)
        self.group, self.of_method = group, of_method


class Command(click.Command):
    """Command whose help shows options in groups.

    Its function gets one argument: an attribute for each option and argument. Options of methods
    are in the mapping ``of_method``, by name, as far as they were given.
    """

    def invoke(self, ctx: click.Context) -> Any:
        """Call the function of the command; Ctrl-C goes to ``program.main``."""
        of_method = {p.name for p in self.params if getattr(p, "of_method", False)}
        own = {name: value for name, value in ctx.params.items() if name not in of_method}
        given = {
            str(name).replace("_", "-"): ctx.params[str(name)]
            for name in sorted(map(str, of_method))
            if ctx.params[str(name)] is not None
        }
        try:
            return ctx.invoke(_callback(self), SimpleNamespace(**own, of_method=given))
        except KeyboardInterrupt as error:
            raise InterruptError from error

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Arguments, then the groups in their order, then what belongs to none."""
        groups: dict[str, list[tuple[str, str]]] = {
            name: [] for name in ("Arguments", DATA, SEARCH, HONEST, OUTPUT, RUNNING, "Help")
        }
        for parameter in self.get_params(ctx):
            if isinstance(parameter, DescribedArgument):
                groups["Arguments"].append((str(parameter.metavar), parameter.text))
            elif (record := parameter.get_help_record(ctx)) is not None:
                groups[getattr(parameter, "group", "Help")].append(record)
        for name, records in groups.items():
            if records:
                with formatter.section(name):
                    formatter.write_dl(records)


def _callback(command: click.Command) -> Callable[..., Any]:
    assert command.callback is not None
    return command.callback


class DescribedArgument(click.Argument):
    """Argument with a description in the help."""

    def __init__(self, name: str, metavar: str, text: str, kind: str = "file") -> None:
        super().__init__([name], metavar=metavar, type=ValueType(kind))
        self.text = text


class CommandOption(NamedTuple):
    """An option of a command, as in the table of options of methods.

    ``kind`` is a kind of value of ``values.py``, "flag", or nothing for text; ``flags`` are what is
    typed if not its name with dashes before it, ``shown`` stands in the help for the default,
    ``values`` are what a shell completes it with.
    """

    metavar: str
    help: str
    kind: str = ""
    flags: str = ""
    shown: str = ""
    values: tuple[str, ...] = ()
    required: bool = False


# For the help, without loading what writes them.
LANGUAGES = {
    "c": "one C99 file, no allocation",
    "javascript": "one function",
    "python": "one module",
    "sql": "one expression, SQLite and DuckDB",
    "sql-probability": "the same for the probability of the second class",
    "onnx": "a graph; needs the onnx package",
    "json": "the formula as plain data",
}

COMMAND_OPTIONS: dict[str, dict[str, CommandOption]] = {
    DATA: {
        "target": CommandOption(
            "COL",
            "Column to predict, by name or position (-1: the last). Required, except for svmlight.",
            flags="--target -t",
        ),
        "event": CommandOption(
            "COL",
            "For survival times: the target is a time, and this column says whether the event "
            "happened then (yes, true or 1) or the time is censored; 'status=dead' names the "
            "value. Fits a Cox model.",
            "event",
        ),
        "true-values": CommandOption(
            "COL",
            "Column of the true values: print the error too.",
            flags="--target -t",
        ),
        "id": CommandOption("COL", "Column to put before the predictions, as the names of rows."),
        "rank-by": CommandOption(
            "COL",
            "Sort the rows by this column of the output, highest first, and add their rank: "
            "such as probability_yes, risk or prediction.",
        ),
        "drop": CommandOption("A,B", "Columns to exclude from the features.", "names"),
        "rows": CommandOption(
            "COL=VALUE", "Rows to use, such as split=train or split!=test.", "rows"
        ),
        "keep-index": CommandOption(
            "",
            "Keep columns that only number the rows (an unnamed first column, or one that "
            "counts 0, 1, 2, ...) as features.",
            "flag",
        ),
        "missing": CommandOption(
            "HOW",
            "Missing values: error (raise an error), median (impute the median or most frequent"
            " value), indicator (also mark them in a column), drop-rows, drop-columns.",
            "one_of",
            values=("error", "median", "indicator", "drop-rows", "drop-columns"),
        ),
        "dates": CommandOption(
            "HOW",
            "Dates: error (raise an error), parts (year, month, day, weekday, hour), or clock "
            "(times of day: an indicator for each weekday and hour; other dates as parts).",
            "one_of",
            values=("error", "parts", "clock"),
        ),
        "date-format": CommandOption(
            "FORMAT",
            "How dates are written, such as %d.%m.%Y for 31.12.2024, for all columns that fit "
            "or by column: 'sold=%d.%m.%Y,built=%m/%Y'.",
            "date_format",
        ),
        "transform-target": CommandOption(
            "SCALE",
            "Fit the target on another scale: log, log1p, sqrt, or auto (the scale, or none, "
            "that suits best). Errors and predictions stay in its own units.",
            "one_of",
            values=("log", "log1p", "sqrt", "auto"),
        ),
        "lags": CommandOption(
            "COL:1-24",
            "For rows in time order with even steps: also use the values of a column 1 to 24 "
            "rows before; the target may be one of them. Several between commas. Implies "
            "--validation time.",
            "lags",
        ),
        "horizon": CommandOption(
            "N",
            "Predict the target N rows later; its value now is then a feature, too. Implies "
            "--validation time.",
            "count",
        ),
        "categorical": CommandOption(
            "A,B",
            "Columns of numbers that are codes of categories, such as zip.",
            "names",
        ),
        "ordered": CommandOption(
            "SPEC",
            "Columns with ordered values, such as 'q1=low<mid<high'; q* means all that begin "
            "with q.",
            "ordered",
        ),
        "delimiter": CommandOption("C", "Column separator of a text file (default: detected)."),
        "decimal": CommandOption("C", "Decimal mark of a text file: . or , (default: detected)."),
        "encoding": CommandOption(
            "NAME",
            "Encoding of a text file, such as latin-1 or utf-16 (default: UTF-8).",
        ),
        "sheet": CommandOption("NAME", "Sheet of a workbook; required if several have cells."),
        "names": CommandOption(
            "FILE",
            "Text file with one column name per line, for data without names: svmlight, npy, "
            "CSV without a header.",
            "file",
        ),
        "sample": CommandOption(
            "N",
            "Use N random rows, for a first look; N:SEED sets the seed (default: 0).",
            "sample",
        ),
    },
    SEARCH: {
        "method": CommandOption(
            "NAME",
            "Method, see below.",
            "method",
            shown="auto; greedy-rls for options of a single method; grafting with --event",
            values=(*METHODS,),
        ),
        "methods": CommandOption(
            "A,B",
            f"Methods to compare, see below; also {', '.join(OTHER_SELECTORS)} of other tools.",
            "names",
            shown="those that suit the task and the size",
            values=(*METHODS, *OTHER_SELECTORS),
        ),
        "task": CommandOption("T", f"{', '.join(TASKS)}.", "one_of", values=TASKS),
        "size": CommandOption(
            "K",
            "Use the model with this many features instead of the recommended one.",
            "whole",
        ),
    },
    HONEST: {
        "validation": CommandOption(
            "N",
            "Outer folds for the error on new data, by which the size is chosen; loo: one row "
            "at a time; time: parts in row order, each predicted from the rows before it.",
            "folds",
            shown="10; 5 for nonlinear methods and auto",
        ),
        "no-validation": CommandOption("", "No honest error: faster.", "flag"),
        "folds": CommandOption(
            "N",
            "Outer folds, the same for all methods; or loo, or time.",
            "folds",
            flags="--validation",
        ),
        "null": CommandOption(
            "N", "Repeat the search on N shuffled targets, for a p-value.", "shuffles"
        ),
        "coefficients": CommandOption(
            "N",
            "Bootstrap intervals of the coefficients from N resamples, and how often each "
            "feature is selected.",
            "resamples",
        ),
        "fdr": CommandOption(
            "Q",
            "Which features are selected at this false discovery rate, such as 0.1, by knockoffs.",
            "level",
        ),
        "p-values": CommandOption(
            "",
            "Selective p-values of the steps of greedy-rls, which allow for the search.",
            "flag",
        ),
        "stability": CommandOption(
            "N",
            "Repeat the search on N random halves: are the same features selected?",
            "halves",
        ),
    },
    OUTPUT: {
        "out": CommandOption(
            "DIR",
            "Write results and an HTML report to this folder.",
            "file",
            flags="--out -o",
        ),
        "out-file": CommandOption(
            "FILE", "Write here instead of to stdout.", "file", flags="--out -o"
        ),
        "out-table": CommandOption(
            "FILE",
            "Write to this .csv, .parquet or .npy file.",
            "file",
            flags="--out -o",
        ),
        "model-format": CommandOption(
            "F",
            "json: models as plain data; joblib: also the estimator, as a pickle.",
            "one_of",
            values=("json", "joblib"),
        ),
        "dtype": CommandOption("T", "double or float: onnx.", shown="double"),
        "page": CommandOption("FILE", "The page.", "file", flags="--out"),
        "to": CommandOption(
            "NAME", "The language, see below.", "one_of", values=(*LANGUAGES,), required=True
        ),
        "json": CommandOption("", "Print one JSON document.", "flag"),
        "quiet": CommandOption("", "Print only the answer.", "flag"),
        "verbose": CommandOption(
            "", "Print details: what the figures mean, corrections, settings.", "flag"
        ),
    },
    RUNNING: {
        "memory": CommandOption(
            "SIZE",
            "Read the data in passes, with at most this much memory, such as 2GB.",
            "size",
        ),
        "dask": CommandOption("ADDRESS", "Address of a Dask cluster, or 'local'."),
        "resume": CommandOption("", "Resume from --checkpoint FILE, which must exist.", "flag"),
        "budget": CommandOption(
            "TIME",
            "Such as 90s, 5min or 1h: skip methods that would not finish in time.",
            "duration",
        ),
        "anyway": CommandOption("", "Run even if the data have changed.", "flag"),
    },
}


def options(names: str) -> list[click.Parameter]:
    """Options of a command by their names; ``name=value`` has a default."""
    found: list[click.Parameter] = []
    for name, _, default in (each.partition("=") for each in names.split()):
        group = next((g for g, every in COMMAND_OPTIONS.items() if name in every), None)
        if group is None:
            found.append(_of_methods(name, False, default))
        else:
            found.append(_as_click(name, COMMAND_OPTIONS[group][name], group, default=default))
    return found


def method_options() -> list[click.Parameter]:
    """The options of all methods, from the table of methods."""
    return [_of_methods(name, True) for name in METHOD_OPTIONS]


def _of_methods(name: str, of_method: bool, default: str = "") -> GroupedOption:
    """An option of methods; those of a command that has no --method apply to all of them."""
    record = METHOD_OPTIONS[name]
    text = record.help.format(methods=" and ".join(having(name)), values=", ".join(record.values))
    flags = {"threads": "--threads --jobs"}.get(name, f"--{name}")
    if record.kind == "flag":
        flags += f"/--no-{name}"
    shown = default or record.default
    option = CommandOption(record.metavar, text, record.kind, flags, shown, record.values)
    return _as_click(name, option, GROUPS.get(name, SEARCH), of_method, default)


def _as_click(
    name: str, option: CommandOption, group: str, of_method: bool = False, default: str = ""
) -> GroupedOption:
    """An option of click, with a default as it would be typed."""
    flags = [name.replace("-", "_"), *(option.flags or f"--{name}").split()]
    given: dict[str, Any] = {"default": default} if default else {}  # None would be a default
    if option.kind == "flag":
        given = {"is_flag": True} | ({"default": None} if of_method else {})
    else:
        kind = ValueType(option.kind, option.values)
        given |= {"metavar": option.metavar, "type": kind, "required": option.required}
    shown = default or option.shown
    return GroupedOption(
        flags, group=group, of_method=of_method, help=option.help, shown=shown, **given
    )


def examples(*commands: str, then: str = "") -> str:
    """Commands to copy, below the options, and more."""
    lines = "\n".join(f"  sparsepath {command}" for command in commands)
    return f"\b\nExamples:\n{lines}" + (f"\n\n\b\n{then}" if then else "")


def format_list(title: str, lines: Mapping[str, str]) -> str:
    """Names with a line for each, below the options."""
    width = max(map(len, lines))
    return "\n".join([title, *(f"  {name:{width}}  {text}" for name, text in lines.items())])


def list_of_methods() -> str:
    """Every method with its summary."""
    return format_list("Methods:", {name: method.summary for name, method in METHODS.items()})
