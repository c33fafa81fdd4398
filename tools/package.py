"""Build sdist and wheel, install them, and use them: the demo and the README's examples.

    python tools/package.py           # the wheel; other packages are borrowed from this environment
    python tools/package.py --empty   # wheel and sdist; other packages are installed from the index

The wheel is built from the sdist, so a file that is missing in the sdist is missing in the wheel.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = f"""
import doctest, pathlib, sys, sparsepath
home = pathlib.Path(sparsepath.__file__).parent
assert home.is_relative_to(sys.prefix), home
assert (home / "py.typed").exists()
from sparsepath._core import threads
flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
result = doctest.testfile({str(ROOT / "README.md")!r}, module_relative=False, optionflags=flags)
assert result.attempted and not result.failed, result
"""


# The jobs of a `make -j` around this script are not passed on to the build's own ninja.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "MAKEFLAGS"}


def run(*command: object, **options: object) -> None:
    subprocess.run([str(part) for part in command], check=True, env=ENVIRONMENT, **options)


def try_out(archive: Path, empty: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        venv = Path(folder) / "venv"
        run(sys.executable, "-m", "venv", "--without-pip", venv)
        bin = venv / ("Scripts" if sys.platform == "win32" else "bin")
        pip = [sys.executable, "-m", "pip", "--python", bin / "python", "install", "--quiet"]
        if not empty:
            # A path in a .pth file; .pth files there, such as an editable install's, are not read.
            site = next(venv.rglob("site-packages"))
            (site / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n", "utf-8")
            pip += ["--no-deps", "--no-build-isolation"]
        run(*pip, archive)
        run(bin / "python", "-I", "-c", README, cwd=folder)
        run(bin / "sparsepath", "demo", cwd=folder, stdout=subprocess.DEVNULL)
        assert (Path(folder) / "demo-result" / "index.html").exists()
        print(f"{archive.name} ({archive.stat().st_size / 1e6:.1f} MB) installs and runs.")


def main() -> None:
    dist = ROOT / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", dist, ROOT]
    run(*build, stdout=subprocess.DEVNULL)
    empty = "--empty" in sys.argv[1:]
    for archive in sorted(dist.glob("*" if empty else "*.whl")):
        try_out(archive, empty)


if __name__ == "__main__":
    main()
