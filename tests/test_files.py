"""Files that are put in place together, and what killed processes leave."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sparsepath import files
from sparsepath.errors import FileError

NAMES = ["a", "b", "c"]


def write(folder: Path, text: str, names: list[str] = NAMES) -> None:
    with files.replacing_together(folder, names) as stage:
        for name in names:
            (stage / name).write_text(text)


def half(folder: Path, error: Exception) -> None:
    with files.replacing_together(folder, NAMES) as stage:
        (stage / "a").write_text("new")
        raise error


def contents(folder: Path) -> dict[str, str]:
    return {file.name: file.read_text() for file in folder.iterdir()}


def test_all_or_none(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "deep"
    write(folder, "old")
    (folder / "mine").write_text("mine")
    for error in (OSError(28, "No space left on device"), ZeroDivisionError("other")):
        with pytest.raises((FileError, ZeroDivisionError), match=r"No space left|other"):
            half(folder, error)
    assert contents(folder) == {**dict.fromkeys(NAMES, "old"), "mine": "mine"}
    write(folder, "new")
    assert contents(folder) == {**dict.fromkeys(NAMES, "new"), "mine": "mine"}


def test_a_folder_in_the_place_of_a_file(tmp_path: Path) -> None:
    write(tmp_path, "old", ["a"])
    (tmp_path / "c").mkdir()
    with pytest.raises(FileError, match="it is a folder"):
        write(tmp_path, "new")
    assert (tmp_path / "a").read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["a", "c"]


@pytest.mark.skipif(os.name != "posix", reason="whether a process runs cannot be asked safely")
def test_what_the_killed_leave_is_taken_away(tmp_path: Path) -> None:
    program = (
        "import os, sys\n"
        "from sparsepath import files\n"
        "with files.replacing_together(sys.argv[1], ['a']) as stage:\n"
        "    (stage / 'a').write_text('half')\n"
        "    with files.replacing(sys.argv[1] + '/b') as stream:\n"
        "        os.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False)
    left = os.listdir(tmp_path)
    assert len(left) == 2
    assert all(name.endswith(".part") for name in left)
    mine = tmp_path / f".b.{files._host()}-{os.getpid()}-x.part"  # of a process that runs
    other = tmp_path / ".b.elsewhere-1-x.part"
    for file in (mine, other):
        file.write_text("half")
    write(tmp_path, "new", ["a"])
    assert sorted(os.listdir(tmp_path)) == sorted([mine.name, other.name, "a"])


@pytest.mark.skipif(os.name != "posix", reason="no named pipes")
def test_what_is_not_a_file_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder"):
        with pytest.raises(FileError, match="it is not a file"), files.replacing(tmp_path / name):
            pass
    assert (tmp_path / "pipe").is_fifo()
    assert len(os.listdir(tmp_path)) == 2


def test_same_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    assert files.same_file(tmp_path / "a", tmp_path / "." / "link")
    assert not files.same_file(tmp_path / "a", tmp_path / "b")
