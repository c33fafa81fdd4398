"""The commands on the page about the command line print what the page says."""

import doctest
import re
import shlex
from pathlib import Path

import pytest

from .conftest import Run

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
LOOSE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.validated
def test_the_page_is_true(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```console\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    commands = [part for block in blocks for part in block.split("$ sparsepath ")[1:]]
    assert len(commands) > 5
    wrong = []
    for part in commands:
        command, expected = part.split("\n", 1)
        done = run(*shlex.split(command))
        found = (done.out + done.err).replace("\\", "/")
        if not doctest.OutputChecker().check_output(expected, found, LOOSE):
            wrong.append(f"$ sparsepath {command}\n{found}")
    assert not wrong, "\n".join(wrong)
