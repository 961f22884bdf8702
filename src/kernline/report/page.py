"""The page: data, sections, scripts and styles in one HTML file that needs no network."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from string import Template
from typing import NamedTuple

from .. import __version__
from .embedding import escaped, json_text, policy
from .markup import Markup, choice, named, table

_SCRIPTS = ("arrays.js", "model.js", "charts.js", "curves.js", "features.js", "whatif.js", "main.js")
_TITLES = {
    "summary": "Summary",
    "scores": "Scores",
    "confusion": "Confusion",
    "curves": "Curves",
    "features": "Features",
    "what-if": "What if",
    "wrong": "Most wrong rows",
    "training": "Training",
    "facts": "Model and data",
}


class Bokeh(NamedTuple):
    """The chart library that the installed package carries: its version and its scripts."""

    version: str
    scripts: list[str]


@dataclass(frozen=True)
class Page:
    """A page before it is written."""

    title: str
    sections: dict[str, str]
    data: dict[str, object]

    def html(self, bokeh: Bokeh) -> bytes:
        """The page as UTF-8. Half of a surrogate pair, which files cannot hold, becomes a question mark."""
        scripts = [*bokeh.scripts, own_script()]
        _check_scripts(scripts)
        links = (f'<li><a href="#{name}">{escaped(_TITLES[name])}</a></li>' for name in self.sections)
        text = Template(_file("page.html")).substitute(
            policy=escaped(policy(scripts)),
            version=escaped(__version__),
            title=escaped(self.title),
            style=_file("style.css"),
            heading=f"<bdi>{escaped(self.title)}</bdi>",
            links="".join(links),
            sections="\n".join(self.sections.values()),
            data=json_text(self.data),
            scripts="\n".join(f"<script>{script}</script>" for script in scripts),
        )
        return text.encode("utf-8", "replace")


def bokeh_scripts() -> Bokeh:
    """Bokeh's own scripts, for inline use."""
    try:
        bokeh = importlib.import_module("bokeh")
        bokeh_resources = importlib.import_module("bokeh.resources")
    except ImportError as error:
        raise ImportError("report needs the package bokeh: pip install 'kernline[report]'.") from error
    inline = bokeh_resources.Resources(mode="inline", minified=True, components=["bokeh", "bokeh-api"])
    # The last one sets the level of log messages, which our script does.
    return Bokeh(bokeh.__version__, [script for script in inline.js_raw if len(script) > 1000])


def own_script() -> str:
    """Our scripts as one, with names of their own."""
    return '(() => {\n"use strict";\n' + "\n".join(map(_file, _SCRIPTS)) + "})();\n"


def features_section(problems: Sequence[str], is_classifier: bool, notes: dict[str, str]) -> Markup:
    """The list of features and their curves; the script fills it."""
    chosen = ""
    if len(problems) > 1:
        options = [("strongest", "the three strongest"), ("all", "all")]
        chosen = choice("feature-class", "Classes shown:" if is_classifier else "Outputs shown:", options)
    return Markup(Template(_file("features.html")).substitute(class_choice=chosen, **notes))


def what_if_section(problems: Sequence[str], is_classifier: bool, speaks: str) -> Markup:
    """A row whose values can be changed; the script fills it. `speaks` says what the signs of effects mean."""
    several = len(problems) > 1
    what, outcome = ("class", "score") if is_classifier else ("output", "prediction")
    scores = table(
        f"{outcome.capitalize()}s of this row", [what.capitalize(), outcome.capitalize(), "Change"], []
    ).replace("<tbody>", '<tbody id="row-scores">')
    of_class = f" of the chosen {what}" if several else ""
    text = Template(_file("what_if.html")).substitute(
        method="decision_function" if is_classifier else "predict",
        result="decision" if is_classifier else "prediction",
        class_choice=choice("row-class", f"Parts of the {outcome} of {what}") if several else "",
        scores=scores if several else "",
        sum=f"the {outcome}{of_class}" + (f", towards {named(problems[0])}" if is_classifier and not several else ""),
        speaks=f"<p>{speaks}</p>",
    )
    return Markup(text)


def _file(name: str) -> str:
    return resources.files(__package__).joinpath("page", name).read_text(encoding="utf-8")


def _check_scripts(scripts: Sequence[str]) -> None:
    """A script that contains the end of its element would end there."""
    if any("</script" in script.lower() or "<!--" in script for script in scripts):
        raise ValueError("report: a script of the installed Bokeh cannot be embedded in a page. Install another one.")
