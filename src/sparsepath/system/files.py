"""Atomic writes: write a temporary file, then rename it.

The temporary file is called ``.name.host-pid-random.part``. If the process is killed, the next one
that writes to the same folder removes it. The content is synchronised to disk before the rename, so
that after a power failure either the old or the new file exists.
"""

import os
import platform
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from sparsepath.errors import FileError

LONGEST = 100  # bytes of a name that are kept in that of the file beside it
_PART = re.compile(r"\..+\.(?P<host>[^.]*)-(?P<pid>\d+)-[^.]*\.part")


@contextmanager
def replacing(path: str | os.PathLike[str], mode: str = "w") -> Iterator[IO[Any]]:
    """Open a temporary file next to ``path``; it replaces ``path`` only after success.

    The folder is created if it is missing. ``mode`` is "w" (text in UTF-8) or "wb".
    """
    target = Path(path)
    try:
        if target.exists() and not target.is_file():  # a device would be gone, for everybody
            raise FileError(f"cannot write {target}: it is not a file.")
        target.parent.mkdir(parents=True, exist_ok=True)
        sweep(target.parent)
        handle, name = tempfile.mkstemp(
            dir=target.parent, prefix=_prefix(target.name), suffix=".part"
        )
    except (OSError, ValueError) as error:
        raise _unwritable(target, error) from error
    beside = Path(name)
    try:
        with os.fdopen(handle, mode, encoding=None if "b" in mode else "utf-8") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(beside, 0o666 & ~_umask())
        os.replace(beside, target)
        _sync(target.parent)
    except OSError as error:
        raise _unwritable(target, error) from error
    finally:
        beside.unlink(missing_ok=True)


@contextmanager
def replacing_together(folder: str | os.PathLike[str], names: Iterable[str]) -> Iterator[Path]:
    """Return a temporary folder; its files replace the targets only after all are written.

    They are renamed in the order of ``names``. The folder is created if it is missing.
    """
    target = Path(folder)
    try:
        target.mkdir(parents=True, exist_ok=True)
        sweep(target)
        stage = Path(tempfile.mkdtemp(dir=target, prefix=_prefix("result"), suffix=".part"))
    except OSError as error:
        raise FileError(f"cannot write to {target}: {error.strerror or error}.") from error
    try:
        yield stage
        names = list(names)
        for name in names:
            if (target / name).is_dir():
                raise FileError(f"cannot write {target / name}: it is a folder.")
            _sync(stage / name)
        for name in names:
            os.replace(stage / name, target / name)
        _sync(target)
    except FileError as error:
        text = str(error).replace(str(stage), str(target))  # the stage is no name for a user
        raise FileError(text) from error
    except OSError as error:
        raise FileError(f"cannot write to {target}: {error.strerror or error}.") from error
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def _unwritable(target: Path, error: Exception) -> FileError:
    if isinstance(error, FileError):
        return error
    reason = getattr(error, "strerror", None) or error
    return FileError(f"cannot write {target}: {reason}.")


def _sync(path: Path) -> None:
    """Synchronise a file or folder to disk, if the system supports it."""
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def is_file(path: Path) -> bool:
    """True if the file exists; False for names that the system does not accept."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def sweep(folder: Path) -> None:
    """Remove temporary files of processes on this machine that no longer run."""
    host = _host()
    try:
        names = os.listdir(folder)
    except OSError:  # a folder may be written to and not be listed
        return
    for name in names:
        found = name.endswith(".part") and _PART.fullmatch(name)
        if found and found["host"] == host and not _runs(int(found["pid"])):
            with suppress(OSError):
                if (folder / name).is_dir():
                    shutil.rmtree(folder / name)
                else:
                    (folder / name).unlink()


def same_file(one: Path, other: Path) -> bool:
    """True if two names, also through links, refer to the same existing file."""
    try:
        return one.samefile(other)
    except OSError:
        return False


def _prefix(name: str) -> str:
    """Return the beginning of a file name, shortened to the length that systems allow."""
    short = os.fsdecode(os.fsencode(name)[:LONGEST])
    return f".{short}.{_host()}-{os.getpid()}-"


def _host() -> str:
    return re.sub(r"[^A-Za-z0-9]", "", platform.node())


def _runs(pid: int) -> bool:
    """True if a process runs, or if this cannot be determined."""
    if os.name != "posix":
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
