"""Runs the README's code with the package that is installed; copied into an empty folder by tools/wheel.py."""

from __future__ import annotations

import shutil
from pathlib import Path

import snippets

import kernline

if shutil.which("cc") or shutil.which("g++") or shutil.which("clang"):
    raise SystemExit("there is a compiler in the path")
if "site-packages" not in kernline.__file__:
    raise SystemExit(f"not the installed package: {kernline.__file__}")
text = Path("README.md").read_text(encoding="utf-8")
print(f"{snippets.run(text, 'README.md', Path.cwd())} snippets of the README ran")
