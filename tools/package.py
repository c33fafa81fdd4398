"""Build sdist and wheel, install each by itself, and use them: the demo and the README's examples.

    python tools/package.py           # other packages are borrowed from this environment: seconds
    python tools/package.py --empty   # other packages are installed anew, as for a newcomer

The wheel is built from the sdist, so that what is missing there is missed here.
"""

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
if {shutil.which("cc") is not None}:
    from sparsepath.rls.leave_one_out.small import small_loops
    assert small_loops() is not None, "there is a C compiler, but its library is missing"
flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
told = doctest.testfile({str(ROOT / "README.md")!r}, module_relative=False, optionflags=flags)
assert told.attempted and not told.failed, told
"""


def run(*command: object, **options: object) -> None:
    subprocess.run([str(part) for part in command], check=True, **options)


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
    for archive in sorted(dist.iterdir()):
        try_out(archive, "--empty" in sys.argv[1:])


if __name__ == "__main__":
    main()
