"""What is handed on: the source distribution, and types for programs that use the library."""

import ast
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
from pathlib import Path

import pytest

from tools import wheel

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def shipped(tmp_path_factory):
    """Files of the source distribution, unpacked."""
    backend = pytest.importorskip("scikit_build_core.build")
    folder = tmp_path_factory.mktemp("sdist")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        name = backend.build_sdist(str(folder))
    with tarfile.open(folder / name) as archive:
        archive.extractall(folder)  # `filter` is not in every 3.11; the archive is our own
    return folder / name.removesuffix(".tar.gz")


def test_what_tests_import_is_in_the_source_distribution(shipped):
    tests = sorted((shipped / "tests").glob("test_*.py"))
    assert [path.name for path in tests] == sorted(path.name for path in (ROOT / "tests").glob("test_*.py"))
    folders = {path.name for path in ROOT.iterdir() if path.is_dir()}
    for path in tests:
        nodes = ast.walk(ast.parse(path.read_text()))
        modules = {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module and not node.level}
        for module in modules:
            if module.split(".")[0] in folders:
                assert (shipped / module.replace(".", "/")).is_dir() or (
                    shipped / f"{module.replace('.', '/')}.py"
                ).is_file(), f"{path.name} imports {module}"


def test_what_a_build_needs_is_in_the_source_distribution(shipped):
    for name in (
        "LICENSE",
        "README.md",
        "CMakeLists.txt",
        "pyproject.toml",
        "Makefile",
        "man/kernline.1",
        "src/kernline/py.typed",
    ):
        assert (shipped / name).is_file(), name
    for folder in ("native", "src/kernline/report/page"):
        names = {path.name for path in (ROOT / folder).iterdir()}
        assert {path.name for path in (shipped / folder).iterdir()} == names


def test_an_interpreter_that_does_not_start_is_skipped(tmp_path, monkeypatch, capsys):
    """As pyenv leaves one: a program of this name is in the path, for versions that are not chosen."""
    shim = tmp_path / "python3.99"
    shim.write_text("#!/bin/sh\nexit 127\n")
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert wheel.starts(sys.executable, "")
    assert not wheel.starts("python3.99", "no wheel is built for it")
    assert not wheel.starts("python3.98", "no wheel is built for it")
    said = capsys.readouterr().out.splitlines()
    assert said == [
        "python3.99: skipped, it does not start; no wheel is built for it",
        "python3.98: skipped, not installed; no wheel is built for it",
    ]


def test_the_wheel_is_tried_with_what_the_readme_installs():
    ((extras, others),) = wheel.INSTALL.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    known = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])
    assert set(extras.strip("[]").split(",")) <= known
    assert others.split() == ["pandas"]


PROGRAM = """
from kernline import AdditiveSVC, kernels, load
model = AdditiveSVC(kernels.Chi2(), C=2.0)
reveal_type(model)
reveal_type(model.tol)
AdditiveSVC(C="two")
load(3)
"""


def test_mypy_uses_the_types_of_an_installed_package(shipped, tmp_path):
    """Installed as a wheel would put it: an environment with the package's files, and all others of this one."""
    pytest.importorskip("mypy")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "env"], check=True)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = tmp_path / "env" / "lib" / version / "site-packages"
    shutil.copytree(shipped / "src" / "kernline", packages / "kernline")
    (packages / "others.pth").write_text(sysconfig.get_paths()["purelib"])
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "mypy", "--no-incremental", "--ignore-missing-imports"]
    command += ["--config-file=", f"--python-executable={tmp_path / 'env' / 'bin' / 'python'}", "program.py"]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout
    assert 'Revealed type is "kernline.estimators.additive.AdditiveSVC"' in said, said
    assert 'Argument "C" to "AdditiveSVC" has incompatible type "Literal[\'two\']"' in said, said
    assert 'Argument 1 to "load" has incompatible type "int"' in said
    assert "Found 2 errors in 1 file" in said
