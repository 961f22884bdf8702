"""``datasets``: list, download and locate named data sets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from .errors import UsageError
from .help_pages import GroupedCommand
from .option_groups import Fixed, expand_groups
from .output import Output, table

if TYPE_CHECKING:
    from ..datasets.catalogue import Entry
    from ..datasets.download import OnBytes

app = typer.Typer(help="List, download and locate named data sets.", no_args_is_help=True, rich_markup_mode=None)

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of a data set, as in kernline datasets list.")]


@app.command("list", cls=GroupedCommand)
@expand_groups
def list_(*, out: Output) -> None:
    """List the data sets. In other commands, @NAME stands for the training part and @NAME.t for the test part.

    \b
    kernline datasets list
    KERNLINE_DATA=my/files kernline datasets list
    """
    with out.working():
        from .. import datasets

        names = datasets.names()
        entries = [_entry(name, datasets.CATALOGUE[name]) for name in names]
        header = ["name", "features", "classes", "parts", "checksum", "local"]
        rows = [
            [entry[key] for key in ("name", "features", "classes", "parts", "checksum", "here")] for entry in entries
        ]
        out.result({"datasets": entries}, names if out.quiet else table(header, rows))


@app.command(cls=GroupedCommand)
@expand_groups
def fetch(name: Name, *, out: Output) -> None:
    """Download a data set into the cache, verify it, and print its path.

    \b
    kernline datasets fetch usps
    """
    with out.working():
        from .. import datasets

        with _download_bar(out) as on_bytes:
            paths = [str(path) for path in datasets.fetch(name.removeprefix("@"), on_bytes)]
        out.result({"name": name, "files": paths}, paths or [f"{name} does not need a file."])


@app.command(cls=GroupedCommand)
@expand_groups
def path(
    name: Name,
    test: Annotated[bool, typer.Option("--test", help="The test part.")] = False,
    *,
    out: Annotated[Output, Fixed(quiet=True)],
) -> None:
    """Print the paths of the local files of a data set. Nothing is downloaded.

    \b
    kernline inspect $(kernline datasets path usps)
    """
    with out.working():
        from .. import datasets

        entry = datasets.CATALOGUE[datasets.check_name(name.removeprefix("@"))]
        files = entry.test if test else entry.train
        if not files:
            raise UsageError(
                f"{name} has no {'test' if test else 'training'} file. Use @{name} instead of a file in commands."
            )
        found = [(file, datasets.local(file)) for file in files]
        for file, where in found:
            if where is None:
                how = (
                    f"kernline datasets fetch {name}" if file.url else "copy it into the folder given by KERNLINE_DATA"
                )
                raise datasets.OutOfReachError(f"{file.name} is not available locally: {how}.")
        paths = [str(where) for _, where in found]
        out.result({"name": name, "files": paths}, paths)


def _entry(name: str, entry: Entry) -> dict[str, object]:
    from .. import datasets

    hashes = [bool(file.sha256) for file in entry.files if file.url]
    published = all(file.url for file in entry.files)
    return {
        "name": name,
        "features": entry.n_features,
        "classes": entry.n_classes,
        "parts": "train, test" if entry.test else "train",
        "checksum": ("yes" if all(hashes) else "some" if any(hashes) else "unverified") if hashes else "-",
        "here": "yes" if all(datasets.local(file) for file in entry.files) else "" if published else "no URL",
        "urls": [file.url for file in entry.files if file.url],
    }


@contextmanager
def _download_bar(out: Output) -> Iterator[OnBytes | None]:
    if not out.live:
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TransferSpeedColumn

    with Progress(BarColumn(), DownloadColumn(), TransferSpeedColumn(), console=Console(stderr=True)) as bar:
        task = bar.add_task("download", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total or None)
