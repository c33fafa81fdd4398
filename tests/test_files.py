"""Files that are put in place together, and what killed processes leave."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sparsepath.errors import FileError
from sparsepath.system import files

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
        "from sparsepath.system import files\n"
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


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="no names of open files")
def test_content_is_on_the_disk_before_its_name(tmp_path: Path, monkeypatch) -> None:
    """After a power failure there is the old file or the new one, never an empty one."""
    calls: list[tuple[str, str]] = []
    sync, replace = os.fsync, os.replace

    def synced(handle: int) -> None:
        calls.append(("sync", os.readlink(f"/proc/self/fd/{handle}")))
        sync(handle)

    def replaced(source: Path, target: Path) -> None:
        calls.append(("replace", str(source)))
        replace(source, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    with files.replacing(tmp_path / "file") as stream:
        stream.write("x" * 100)
    write(tmp_path / "folder", "new")
    for folder, count in ((tmp_path, 1), (tmp_path / "folder", len(NAMES))):
        mine = [call for call in calls if Path(call[1]).is_relative_to(folder)]
        if folder == tmp_path:
            mine = [call for call in mine if not Path(call[1]).is_relative_to(tmp_path / "folder")]
        kinds, places = zip(*mine, strict=True)
        assert kinds == ("sync",) * count + ("replace",) * count + ("sync",)
        assert places[:count] == places[count : 2 * count]
        assert places[-1] == str(folder)


KILLED = """
import os, signal, sys
from pathlib import Path
from sparsepath.system import files

folder, how = Path(sys.argv[1]), sys.argv[2]
left = 0
steps = ("open", "write", "fsync", "close", "chmod", "replace", "rename", "unlink", "mkdir")

def wrapped(function):
    def counted(*given, **more):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*given, **more)
    return counted

def job():
    if how == "one":
        with files.replacing(folder / "a") as stream:
            for _ in range(3):
                stream.write("new" * 5000)
                stream.flush()
    else:
        with files.replacing_together(folder, ["a", "b"]) as stage:
            (stage / "a").write_text("new" * 15000)
            (stage / "b").write_text("new" * 15000)

for at in range(1, 200):
    for name in "ab":
        (folder / name).write_text("old" * 15000)
    child = os.fork()
    if child == 0:
        left = at
        for name in steps:
            setattr(os, name, wrapped(getattr(os, name)))
        job()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    for name in "ab":
        assert (folder / name).read_text() in ("old" * 15000, "new" * 15000), (at, name)
    if status == 0:
        break
job()
names = sorted(os.listdir(folder))
assert names == ["a", "b"], names
print(at - 1)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.parametrize("how", ["one", "together"])
def test_a_kill_at_any_step_damages_nothing(how: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path), how],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 5  # steps at which it was killed
