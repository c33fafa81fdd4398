"""Writing files so that an existing one is never damaged: write beside, then rename."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from sparsepath.errors import FileError


@contextmanager
def replacing(path: str | os.PathLike[str], mode: str = "w") -> Iterator[IO[Any]]:
    """Open a file beside ``path`` for writing; it takes its place only when all went well.

    Parameters
    ----------
    path : path
        The file to write. Its folder is made if it is missing.
    mode : {"w", "wb"}
        Text (UTF-8) or bytes.
    """
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(
            dir=target.parent, prefix=f".{target.name}.", suffix=".part"
        )
    except OSError as error:
        raise FileError(f"cannot write {target}: {error.strerror or error}.") from error
    beside = Path(name)
    try:
        with os.fdopen(handle, mode, encoding=None if "b" in mode else "utf-8") as stream:
            yield stream
        os.chmod(beside, 0o666 & ~_umask())
        os.replace(beside, target)
    except OSError as error:
        raise FileError(f"cannot write {target}: {error.strerror or error}.") from error
    finally:
        beside.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
