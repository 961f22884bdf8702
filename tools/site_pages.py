"""What Sphinx does not do itself: pages from files outside docs/, the help of every command, links between them.

Pages are written to be read in the repository too, with links to files. Here they become links to pages.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tools import command_help

ROOT = Path(__file__).parents[1]
# Pages whose text is a file of the repository.
FILES = {
    "project/architecture": "ARCHITECTURE.md",
    "project/changelog": "CHANGELOG.md",
    "project/contributing": "CONTRIBUTING.md",
    "project/security": "SECURITY.md",
}
_FOLDERS = {"docs/papers": "/papers/index.md", "docs/decisions": "/decisions/README.md", "docs": "/index.md"}
HELP = "<!-- the help of every command -->"
# Code, which stays, or a name that ends in an underscore.
_NAME_WITH_UNDERSCORE = re.compile(r"``.*?``|`[^`]*`|(?<![\w*.\\])([A-Za-z]\w*)_(?![\w*`])")
# Members that estimators inherit from scikit-learn, whose documentation explains them.
_MADE_BY_SCIKIT_LEARN = re.compile(r"set_(\w+_request|callbacks|output)|get_metadata_routing|\w*_repr_\w*")


def connect(app: Any) -> None:
    """Register with Sphinx."""
    app.connect("source-read", _read)
    app.connect("autodoc-skip-member", _skip)
    app.connect("autodoc-process-docstring", _as_markup, priority=900)  # after numpydoc


def _read(app: Any, name: str, source: list[str]) -> None:
    path = Path("docs", app.env.doc2path(name, base=False))
    if name in FILES:
        path = Path(FILES[name])
        source[0] = (ROOT / path).read_text(encoding="utf-8")
    if path.suffix == ".md":
        source[0] = linked(source[0].replace(HELP, command_help.markdown()), path)
    if name == "decisions/README":
        source[0] += "\n```{toctree}\n:hidden:\n:glob:\n\n2*\n```\n"


def linked(text: str, path: Path) -> str:
    """A page of the repository at `path`, with links to pages of the site in place of links to files."""
    return re.sub(r"(?<!!)\[([^\]]*)\]\(([^)\s:]+)\)", lambda found: _link(found[1], found[2], path), text)


def _link(text: str, target: str, path: Path) -> str:
    file, mark, heading = target.partition("#")
    if not file:
        return f"[{text}]({target})"
    place = (ROOT / path.parent / file).resolve().relative_to(ROOT).as_posix()
    by_file = {file: f"/{name}.md" for name, file in FILES.items()} | _FOLDERS
    if place in by_file:
        return f"[{text}]({by_file[place]}{mark}{heading})"
    if place.startswith("docs/") and place.endswith(".md"):
        return f"[{text}](/{place.removeprefix('docs/')}{mark}{heading})"
    if not (ROOT / place).exists():
        raise ValueError(f"{path}: a link to {target}, which does not exist.")
    return text  # a file that has no page, such as a program


def _as_markup(app: Any, what: str, name: str, value: object, options: object, lines: list[str]) -> None:
    """Escape learnt attributes such as C_, which would be links, and drop labels of scikit-learn's documentation."""
    for k, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            line = re.sub(r":ref:`([^`<]*?)\s*(?:<[^`]*>)?`", r"\1", line)
            lines[k] = _NAME_WITH_UNDERSCORE.sub(lambda found: f"{found[1]}\\_" if found[1] else found[0], line)


def _skip(app: Any, what: str, name: str, member: object, skip: bool, options: object) -> bool | None:
    of_scikit_learn = str(getattr(member, "__module__", "")).startswith("sklearn.")
    return True if of_scikit_learn or _MADE_BY_SCIKIT_LEARN.fullmatch(name) else None
