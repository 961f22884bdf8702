"""A file format from outside the package: one file, and one object to register.

A row is a label, a bar and numbers: ``spam | 0.5 0 2``.
"""

import numpy as np

from kernline.io import Data, Format


def read_bars(source, settings):
    rows, labels = None, []
    for number, line in enumerate(source.stream, start=1):
        label, _, text = line.decode().partition("|")
        try:
            values = np.array([text.split(settings.delimiter)], dtype=np.float64)
        except ValueError as error:
            settings.bad_lines.report(f"{source.name}:{number}: {error}")
            continue
        if rows is None:
            rows = settings.rows(source.name, values.shape[1])
        rows.append(values)
        labels.append(label.strip())
    if rows is None:
        raise ValueError(f"{source.name} has no rows.")
    return Data(rows.result(), np.array(labels))


def write_bars(stream, data):
    for label, values in zip(data.y, data.matrix.tolist(), strict=True):
        stream.write(f"{label} | {' '.join(map(repr, values))}\n".encode())


BARS = Format("bars", read_bars, suffixes=(".bars",), aliases=("bar",), options=("delimiter",), write=write_bars)
