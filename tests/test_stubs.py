"""The types of the core, which `make stubs` writes, name what it has."""

import ast
import inspect
from pathlib import Path

import kernline
from kernline import _core

STUBS = Path(kernline.__file__).parent / "_core.pyi"


def names(body):
    """Functions and classes, each class with its methods and properties."""
    found = {}
    for node in body:
        if isinstance(node, ast.ClassDef):
            found[node.name] = set(names(node.body))
        elif isinstance(node, ast.FunctionDef):
            found[node.name] = None
        elif isinstance(node, ast.AnnAssign):
            found[node.target.id] = None
    return found


def test_stubs_name_all_of_the_core():
    stubs = names(ast.parse(STUBS.read_text()).body)
    core = {name: value for name, value in vars(_core).items() if not name.startswith("__")}
    assert stubs.keys() == core.keys()
    for name, value in core.items():
        if inspect.isclass(value):
            public = {member for member in vars(value) if not member.startswith("__")}
            assert {member for member in stubs[name] if not member.startswith("__")} == public, name
