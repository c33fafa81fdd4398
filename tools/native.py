"""Build the loops in C that come with the package, where there is a compiler.

A build hook of hatchling. Without a compiler, or with SPARSEPATH_PURE=1, the package is plain
Python and does the same in NumPy, small searches some times as slowly. The library calls nothing of
Python's: one wheel serves every version of it on a platform.
"""

import importlib
import os
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCE = Path("src", "sparsepath", "rls", "leave_one_out", "small.c")
NAME = "libsmall.dll" if sys.platform == "win32" else "libsmall.so"
OPTIONS = {
    "msvc": ["/O2", "/std:c11"],
    "unix": ["-O3", "-g0", "-std=gnu11", "-fno-math-errno", "-fno-trapping-math"],
}


def build(source: Path, target: Path) -> None:
    """Compile the one file to a shared library, as setuptools does extensions."""
    importlib.import_module("setuptools")  # brings distutils, which Python has no more
    compiler = importlib.import_module("distutils.ccompiler").new_compiler()
    importlib.import_module("distutils.sysconfig").customize_compiler(compiler)
    options = OPTIONS.get(compiler.compiler_type, OPTIONS["unix"])
    with tempfile.TemporaryDirectory() as folder:
        objects = compiler.compile([str(source)], output_dir=folder, extra_postargs=options)
        built = Path(folder, NAME)
        compiler.link_shared_object(objects, str(built))
        new = target.with_name(f"{NAME}.new")
        new.write_bytes(built.read_bytes())
        os.replace(new, target)  # a process may have the old one open


class Native(BuildHookInterface):
    """What hatchling asks when it builds a wheel, or an editable install."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Put the library into the wheel; for an editable install, beside its source."""
        source, editable = Path(self.root, SOURCE), version == "editable"
        self._folder = tempfile.TemporaryDirectory()
        target = source.with_name(NAME) if editable else Path(self._folder.name, NAME)
        target.unlink(missing_ok=True)
        if os.environ.get("SPARSEPATH_PURE") == "1":
            return
        try:
            build(source, target)
        except Exception as error:  # whatever a compiler does, the package works without it
            print(f"no library was built ({error}); NumPy will do the same", file=sys.stderr)
            return
        if not editable:
            platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{platform}"
            place = SOURCE.with_name(NAME).relative_to("src")
            build_data["force_include"][str(target)] = place.as_posix()

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Once the wheel is written."""
        self._folder.cleanup()
