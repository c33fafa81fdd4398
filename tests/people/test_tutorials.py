"""The tutorials print what they say."""

import doctest
import re
import shlex
from pathlib import Path

import pytest
from examples import messy_tables

PAGES = Path(__file__).parents[2] / "docs" / "tutorials"
LOOSE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.validated
@pytest.mark.parametrize("page", ["house-sales", "survey", "hourly-load", "genes", "patients"])
def test_tutorial(run, tmp_path, monkeypatch, page):
    monkeypatch.chdir(tmp_path)
    for name, draw in messy_tables.TABLES.items():
        messy_tables.write(draw(), f"{name}.csv")
    text = (PAGES / f"{page}.md").read_text("utf-8")
    blocks = re.findall(r"```console\n\$ sparsepath (.*?)```", text, re.DOTALL)
    assert blocks
    for block in blocks:
        command, expected = block.split("\n", 1)
        done = run(*shlex.split(command))
        assert done.code == 0
        found = done.out + done.err
        assert doctest.OutputChecker().check_output(expected, found, LOOSE), f"{command}\n{found}"
