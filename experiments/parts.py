"""Finished parts of a long experiment, kept on disk, so that an interrupted run resumes."""

import hashlib
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


class Parts:
    """Results by name and by the code that made them.

    A part is taken from the disk only if the files that it depends on are what they were, to the
    letter; else it is worked out again. Results must be what JSON can hold.

    Parameters
    ----------
    folder : Path
    depends : mapping from a kind of part to files or folders, relative to the project
    """

    def __init__(self, folder: Path, depends: dict[str, Iterable[str]]) -> None:
        self.folder = folder
        self.digests = {kind: _digest(names) for kind, names in depends.items()}
        folder.mkdir(parents=True, exist_ok=True)

    def file(self, kind: str, name: str) -> Path:
        """Where the part ``name`` is kept, or will be."""
        return self.folder / f"{name}-{self.digests[kind]}.json"

    def get(self, kind: str, name: str, work: Callable[..., Any], *arguments: Any) -> Any:
        """The part ``name``: from the disk, or by ``work(*arguments)``."""
        file = self.file(kind, name)
        if not file.exists():
            found = json.dumps(work(*arguments))
            unfinished = file.with_suffix(".tmp")
            unfinished.write_text(found, encoding="utf-8")
            unfinished.replace(file)
        return json.loads(file.read_text(encoding="utf-8"))


def _digest(names: Iterable[str]) -> str:
    digest = hashlib.blake2b(digest_size=6)
    for name in names:
        place = ROOT / name
        for file in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            digest.update(file.read_bytes())
    return digest.hexdigest()
