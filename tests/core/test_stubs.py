"""The committed type stubs are those of the core that runs."""

import subprocess
import sys
from pathlib import Path

import pytest

STUBS = Path(__file__).parents[2] / "src" / "sparsepath" / "_core"


def test_stubs_are_up_to_date(tmp_path):
    pytest.importorskip("nanobind")
    command = [sys.executable, "-m", "nanobind.stubgen", "-q", "-r", "-m", "sparsepath._core"]
    subprocess.run([*command, "-O", str(tmp_path)], check=True)
    generated = {file.name: file.read_text("utf-8") for file in tmp_path.rglob("*.pyi")}
    committed = {file.name: file.read_text("utf-8") for file in STUBS.glob("*.pyi")}
    assert committed == generated, "run tools/build_core and commit the stubs"
