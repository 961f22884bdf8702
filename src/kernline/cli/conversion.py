"""``convert`` and ``export``: write data or a model in another format."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO, cast

import typer

from . import options as opt
from .data import Reading
from .errors import UsageError
from .files import check_not_input, check_output, is_dataset
from .models import load_model
from .output import Output

if TYPE_CHECKING:
    from ..array_types import Labels

_EXPORTS = {".onnx": "onnx", ".h": "c", ".c": "c", ".json": "json", ".csv": "csv"}
# How files start that `export` wrote: C, JSON, CSV with its line of intercepts, ONNX with the name of its producer.
_EXPORTED = re.compile(
    rb'/\* Written by kernline|\{\s*"classes": |feature,(value|from),[^\n]*\n,,|.{0,8}kernline', re.DOTALL
)


def convert(
    source: opt.DataFile,
    output: Annotated[
        str, typer.Argument(metavar="OUTPUT", help="Output file, in the format of its suffix; - for standard output.")
    ],
    to: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="FORMAT",
            autocompletion=opt.FORMAT_NAMES,
            help="Output format, if the file name does not show it.",
        ),
    ] = "auto",
    kernel: Annotated[
        str | None,
        typer.Option("--kernel", metavar="KERNEL", help="Of the models to train on a .kdata file. Default: auto."),
    ] = None,
    scale: Annotated[
        str | None,
        typer.Option("--scale", metavar="SCALE", help="Of the models to train on a .kdata file. Default: auto."),
    ] = None,
    *,
    reading: opt.ReadingOptions,
    out: Output,
) -> None:
    """Convert data to another format.

    Formats are svmlight (LIBSVM), csv, tsv, parquet, arrow, npy and npz. With the suffix .gz, .bz2 or .xz the output is
    compressed. A .kdata file holds the rows as codes, a byte per value or less, for `kernline train`; DATA is read
    twice for it, and is never in memory as a whole.

    \b
    kernline convert data.svm data.kdata
    kernline convert table.csv table.svm --target species
    kernline convert data.svm.bz2 data.parquet
    kernline convert @digits digits.svm
    """
    with out.working():
        if is_dataset(output) and to == "auto":
            _convert_to_codes(Reading(out, reading), source, output, kernel, scale)
            return
        if kernel is not None or scale is not None:
            raise UsageError("--kernel and --scale apply to .kdata files, which hold codes.")
        _convert_values(Reading(out, reading), source, output, to)


def _convert_values(reading: Reading, source: str, output: str, to: str) -> None:
    """Read all rows, and write them in the format `to`."""
    from .. import io
    from ..io.atomic import replacing

    out, path = reading.out, Path(output)
    kind = io.FORMATS[io.format_of(output, to)]
    if output != "-":
        check_output(path, source)
        out.claim(path)
    content = reading.rows(source)
    qid = content.qid
    if qid is not None and "qid" not in kind.stores:
        out.warn(f"{source} has query numbers (qid), which {kind.name} cannot store; they are left out.")
        qid = None
    target = reading.options.target
    label = target if target is not None and not target.lstrip("-").isdigit() else "label"

    def write(stream: BinaryIO) -> None:
        names, y = content.feature_names, cast("Labels | None", content.y)
        io.write(stream, content.X, y, name=output, format=to, feature_names=names, target=label, qid=qid)

    if output == "-":
        with out.stdout() as text:
            write(text.buffer)
        return
    with replacing(path) as stream:
        write(stream)
    rows, features = content.X.shape
    record = {"output": output, "rows": rows, "features": features, "skipped_lines": content.n_skipped}
    out.result(record, [] if out.quiet else [f"{output}: {rows:,} × {features:,}"])


def _convert_to_codes(reading: Reading, source: str, output: str, kernel: str | None, scale: str | None) -> None:
    """Encode the rows of a file."""
    out, path = reading.out, Path(output)
    check_output(path, source)
    out.claim(path)
    with out.status(f"Reading {source}"):
        dataset = reading.dataset(source, kernel=kernel or "auto", scale=scale or "auto")
        dataset.save(path)
    rows, features = dataset.shape
    record = {"output": output, "rows": rows, "features": features, "bytes": path.stat().st_size}
    out.result(record, [] if out.quiet else [f"{output}: {rows:,} × {features:,}, {path.stat().st_size:,} bytes"])


def export(
    model: opt.ModelFile,
    output: Annotated[
        str,
        typer.Argument(metavar="OUTPUT", help="Output file; its suffix selects the format: .onnx, .h, .json or .csv."),
    ],
    to: Annotated[
        str | None, typer.Option("--to", metavar="FORMAT", help="onnx, c, json or csv, if the suffix does not show it.")
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="Prefix of the names in C. Default: the file name.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite OUTPUT even if it is not an exported model.")
    ] = False,
    *,
    out: Output,
) -> None:
    """Export a model to ONNX, C, JSON or CSV.

    The C header has no dependencies. JSON and CSV contain the curves of an additive model.

    \b
    kernline export model.kern model.onnx
    kernline export model.kern model.h
    """
    with out.working():
        path = Path(output)
        form = to or _EXPORTS.get(path.suffix.lower())
        if form not in _EXPORTS.values():
            raise UsageError(f"{output}: the suffix does not show the format. Pass --to onnx, c, json or csv.")
        if name is not None and form != "c":
            raise UsageError(f"--name does not apply to format {form}, only to c.")
        check_not_input(path, model)
        if not force and not _is_replaceable(path):
            raise UsageError(f"{path} exists and is not an exported model. Choose another file, or pass --force.")
        out.claim(path)
        svm = load_model(model)
        from .. import export as forms

        getattr(forms, f"to_{form}")(svm, path, **({"name": name} if name is not None else {}))
        size = path.stat().st_size if path.is_file() else None
        line = f"{output}: {size:,} bytes" if size is not None else output
        out.result({"output": output, "form": form, "bytes": size}, [] if out.quiet else [line])


def _is_replaceable(path: Path) -> bool:
    """Whether an export may take the place of this file: it is an export, empty, or not a regular file."""
    if not path.is_file():
        return True
    with path.open("rb") as file:
        start = file.read(1 << 16)
    return not start or _EXPORTED.match(start) is not None
