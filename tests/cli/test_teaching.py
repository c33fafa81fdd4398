"""Help that teaches, and completion in shells."""

import os
import shlex
import subprocess
import sys

import pytest

from sparsepath.cli.commands import app

from .conftest import Run

NAMES = [*app.commands]


@pytest.mark.parametrize("name", NAMES)
def test_examples_that_can_be_typed(run: Run, name) -> None:
    commands = app.commands
    shown = run(name, "--help").out
    examples = [shlex.split(line.strip())[1:] for line in shown.splitlines()
                if line.startswith("    sparsepath ")]  # fmt: skip
    assert len(examples) >= 3
    assert name in [words[0] for words in examples]
    for typed, *arguments in examples:
        commands[typed].make_context(typed, arguments)  # raises on what is not known


def test_options_stand_in_groups(run: Run) -> None:
    lines = run("select", "--help").out.splitlines()
    groups = ["Data:", "Search:", "Honest error:", "Output:", "Running:", "Help:"]
    places = [lines.index(group) for group in groups]
    assert places == sorted(places)
    [target] = [i for i, line in enumerate(lines) if line.startswith("  -t, --target")]
    [threads] = [i for i, line in enumerate(lines) if line.startswith("  --threads, --jobs N")]
    assert places[0] < target < places[1]
    assert places[4] < threads < places[5]


def completed(words: str) -> list[str]:
    """What bash would be offered after these words."""
    typed = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    environment = {**os.environ, **typed, "_SPARSEPATH_COMPLETE": "bash_complete"}
    command = [sys.executable, "-m", "sparsepath"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    return [line.partition(",")[2] for line in done.stdout.split()]


def test_completion() -> None:
    assert completed("sparsepath se") == ["select"]
    assert completed("sparsepath select data.csv --method mi") == [
        "mi-forward",
        "mi-forward-backward",
    ]
    assert completed("sparsepath export m.json --to j") == ["javascript", "json"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_can_be_shown(run: Run, shell) -> None:
    done = run("--show-completion", shell)
    assert done.code == 0
    assert f"{shell}_complete" in done.out
