"""Additive models as a C99 header without dependencies: the tables, and a function that predicts for a row."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..array_types import Array
from ..encoding import Encoder, TableTerm
from ..estimators.additive import AdditiveSVC
from ..io.atomic import replacing
from ..shapes import ShapeFunctions
from ..tables import DenseTable, PowersTable
from ..tables.pmsvm import LOG_SHIFT
from .c_literals import quoted, table
from .c_pairs import PAIR_CODE, pair_code, pair_tables
from .common import (
    AdditiveModel,
    ExportedTerm,
    Ranks,
    additive_model,
    gap_values,
    probabilities_of,
    ranks_of,
    rows_of,
    terms_of,
    weights_of,
)


def to_c(model: AdditiveModel, path: str | os.PathLike[str], *, name: str | None = None) -> None:
    """Write an additive model as a C99 header without dependencies.

    It defines ``int NAME_predict(const double *x, double *scores)``, which takes a row of NAME_N_FEATURES values and
    returns the number of its class; ``NAME_labels`` has the classes as text. `scores` points to NAME_N_SCORES numbers,
    which receive the result of `decision_function`, or is NULL. For a regression, it is ``double NAME_predict(const
    double *x, double *outputs)``, which returns the first output; `outputs` points to NAME_N_OUTPUTS numbers, or is
    NULL. With loss="log", ``void NAME_probabilities(const double *scores, double *probabilities)`` turns scores into
    the result of `predict_proba`, one number per class. In a column of text, the value is that of ``double
    NAME_level(int column, const char *text)``; NULL and the empty text are missing. A missing number is NAN. Compile
    without -ffast-math.

    Parameters
    ----------
    model : fitted AdditiveSVC, AdditiveSVR, or a CV version of these
    path : where to write
    name : str or None, default=None
        Prefix of every name in the header; None: the name of the file.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_digits
    >>> import kernline, kernline.export
    >>> model = kernline.AdditiveSVC().fit(*load_digits(return_X_y=True))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "digits.h")
    ...     kernline.export.to_c(model, path)
    ...     "int digits_predict(" in open(path).read()
    True
    """
    model = additive_model(model, "to_c", multilabel=False)
    name = re.sub(r"\W", "_", Path(path).name.split(".")[0], flags=re.ASCII) if name is None else name
    if not re.fullmatch(r"[A-Za-z_]\w*", name, flags=re.ASCII):
        raise ValueError(f"to_c: {name!r} cannot begin a name in C. Pass name= with letters, digits and underscores.")
    with replacing(path) as file:
        for part in _parts(model, name):
            file.write(part.encode())


def _parts(model: AdditiveModel, name: str) -> Iterator[str]:
    shapes = model.shapes_
    encoder, (n_problems, _, width) = shapes.encoder, shapes.weights.shape
    n_features, terms = shapes.n_features, terms_of(shapes, "to_c")
    answer = _answer(model, name)
    guard = f"{name.upper()}_H"
    yield f"/* Written by kernline: {type(model).__name__}, {n_features} features, {answer.described}. C99. */\n"
    yield f"#ifndef {guard}\n#define {guard}\n\n#include <stddef.h>\n"
    powers, gaps = isinstance(shapes.table, PowersTable), gap_values(encoder)
    has_math = powers or gaps is not None or encoder.columns.of_text or answer.probabilities
    yield "#include <math.h>\n" if has_math else ""
    yield "#include <string.h>\n\n" if encoder.columns.of_text else "\n"
    yield f"#define {name.upper()}_N_FEATURES {n_features}\n{answer.definitions}"
    yield from _levels(encoder, name)
    if gaps is not None:
        yield from table("double", f"{name}_gaps", gaps)
    ranks = ranks_of(encoder)
    yield from _tables(shapes, ranks, terms, name)
    unit = _AFFINE if ranks is None else _RANKS.replace("N_EDGES", str(ranks.edges.shape[1]))
    vector = _POWERS if powers else _VALUE
    if encoder.grid is not None:
        vector = (_CODES + _DENSE) if isinstance(shapes.table, DenseTable) else (_CODES + _HATS)
        vector = vector.replace("N_THRESHOLDS", str(encoder.grid.thresholds.size))
        vector = vector.replace("N_STEPS", str(getattr(shapes.table, "steps", 1)))
    low, high = ("0.0f", "1.0f") if encoder.clips else ("-1e18f", "1e18f")
    code = unit + _PREDICT.replace("/* vector */", vector)
    skips = encoder.nan_columns.size or (encoder.columns.gaps == "zero" and not encoder.clips)
    code = code.replace("/* missing */", _FILL_GAPS if gaps is not None else _SKIP_NAN if skips else _VALUES)
    code = code.replace("/* terms */", "".join(_term_code(number, *exported) for number, exported in enumerate(terms)))
    helpers = {axis.kind for term, _ in terms for axis in term.axes} & set(_AXES)
    if shapes.pairs:
        code = PAIR_CODE + code.replace("/* pairs */", pair_code(shapes.pairs, gaps))
        helpers.add("levels")
    code = "".join(_AXES[kind] for kind in sorted(helpers)) + code.replace("/* pairs */", "")
    for key, value in (
        ("LOW", low),
        ("HIGH", high),
        ("WIDTH", str(width)),
        ("N_FEATURES", str(n_features)),
        ("N_SCORES", str(n_problems)),
        ("LOG_SHIFT", repr(LOG_SHIFT)),
        ("NAME", name),
        ("KIND", answer.kind),
        ("COMMENT", answer.comment),
        ("ANSWERS", answer.all_of_them),
    ):
        code = re.sub(rf"\b{key}(?=\b|_)", value, code)
    yield code + answer.end.replace("N_SCORES", str(n_problems)) + "}\n"
    yield answer.probabilities.replace("NAME", name).replace("N_SCORES", str(n_problems)) + "\n#endif\n"


def _tables(shapes: ShapeFunctions, ranks: Ranks | None, terms: list[ExportedTerm], name: str) -> Iterator[str]:
    """All that the model has learnt."""
    yield from table("double", f"{name}_intercepts", np.asarray(shapes.intercepts, dtype=np.float64))
    yield from table("float", f"{name}_weights", weights_of(shapes))
    if ranks is None:
        yield from table("double", f"{name}_offsets", shapes.encoder.offsets)
        yield from table("double", f"{name}_factors", shapes.encoder.factors)
    else:
        for what in ("edges", "levels", "slopes"):
            yield from table("double", f"{name}_{what}", getattr(ranks, what))
    if shapes.encoder.grid is not None:
        yield from table("float", f"{name}_thresholds", shapes.encoder.thresholds)
        if isinstance(shapes.table, DenseTable):
            yield from table("float", f"{name}_table", rows_of(shapes.table))
    for number, (term, scores) in enumerate(terms):
        yield from table("double", f"{name}_term{number}", scores)
        for axis_number, axis in enumerate(term.axes):
            if axis.points.size:
                yield from table("double", f"{name}_term{number}_axis{axis_number}", axis.points)
    if shapes.pairs:
        yield from pair_tables(shapes.pairs, name)


class _Answer(NamedTuple):
    """What `predict` returns, and where it writes all that it has computed."""

    described: str
    definitions: str
    kind: str
    comment: str
    all_of_them: str
    end: str
    probabilities: str = ""  # the function for these


def _answer(model: AdditiveModel, name: str) -> _Answer:
    n_problems = model.shapes_.n_problems
    if not isinstance(model, AdditiveSVC):
        described = f"{n_problems} {'output' if n_problems == 1 else 'outputs'}"
        definitions = f"#define {name.upper()}_N_OUTPUTS {n_problems}\n\n"
        return _Answer(described, definitions, "double", "The first output of a row", "outputs", _FIRST_OUTPUT)
    classes = model.classes_.tolist()
    texts = ", ".join(quoted(str(label)) for label in classes)
    definitions = (
        f"#define {name.upper()}_N_CLASSES {len(classes)}\n#define {name.upper()}_N_SCORES {n_problems}\n\n"
        f"static const char *const {name}_labels[{len(classes)}] = {{{texts}}};\n"
    )
    best = _TWO_CLASSES if n_problems == 1 else _MORE_CLASSES
    comment, kind = "The number of the class of a row", probabilities_of(model)
    probabilities = _PROBABILITIES[kind] if kind is not None else ""
    return _Answer(f"{len(classes)} classes", definitions, "int", comment, "scores", best, probabilities)


def _term_code(number: int, term: TableTerm, _: Array) -> str:
    """The code that finds the cell of a term and adds its scores."""
    lines = []
    place = "0"
    for k, (axis, column) in enumerate(zip(term.axes, term.columns, strict=True)):
        at = f"x[{column}] != x[{column}] ? 0 : -1"
        if axis.kind in _AXES:
            at = f"NAME_position_{axis.kind}(NAME_term{number}_axis{k}, {axis.points.size}, x[{column}])"
        lines.append(f"    const int at{k} = {at};")
        place = f"at{k}" if k == 0 else f"({place}) * {axis.size} + at{k}"
    found = " && ".join(f"at{k} >= 0" for k in range(len(term.axes)))
    add = f"for (int p = 0; p < N_SCORES; ++p) sums[p] += NAME_term{number}[(size_t)({place}) * N_SCORES + (size_t)p];"
    comment = f"  {{ /* {term.kind}: column {' and '.join(map(str, term.columns))} */"
    return "\n".join([comment, *lines, f"    if ({found}) {add}", "  }", ""])


def _levels(encoder: Encoder, name: str) -> Iterator[str]:
    """The names of the levels of columns of text, and the function that looks them up."""
    cases = ""
    for j, levels in zip(encoder.columns.of_text, encoder.columns.levels, strict=True):
        texts = ",\n".join(f"  {quoted(text)}" for text in levels)
        yield f"static const char *const {name}_levels{j}[{max(1, levels.size)}] = {{\n{texts or '  NULL'}\n}};\n"
        cases += f"    case {j}: levels = {name}_levels{j}; n = {levels.size}; break;\n"
    if cases:
        yield _LEVEL.replace("/* cases */", cases).replace("NAME", name) + "\n"


_AFFINE = """
/* The value of feature j on the scale of the tables. */
static inline float NAME_unit(double x, int j) { return (float)((x - NAME_offsets[j]) * NAME_factors[j]); }
"""

_RANKS = """
/* The rank of a value among those of the training data, between 0 and 1. */
static inline float NAME_unit(double x, int j) {
  const double *edge = NAME_edges + (size_t)j * N_EDGES;
  int low = 0, high = N_EDGES;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    if (edge[middle] <= x) low = middle; else high = middle;
  }
  if (x < edge[low]) return 0.0f;
  const double rise = (x - edge[low]) * NAME_slopes[(size_t)j * N_EDGES + low];
  return (float)(NAME_levels[(size_t)j * N_EDGES + low] + rise);
}
"""

_PREDICT = """
/* COMMENT; ANSWERS may be NULL. */
static inline KIND NAME_predict(const double *x, double *ANSWERS) {
  double sums[N_SCORES];
  for (int p = 0; p < N_SCORES; ++p) sums[p] = NAME_intercepts[p];
  for (int j = 0; j < N_FEATURES; ++j) {
/* missing */    float u = NAME_unit(value, j);
    if (!(u > LOW)) u = LOW;
    if (u > HIGH) u = HIGH;
/* vector */    for (int k = 0; k < n; ++k) {
      const float *weights = NAME_weights + ((size_t)j * WIDTH + (size_t)(first + k)) * N_SCORES;
      for (int p = 0; p < N_SCORES; ++p) sums[p] += (double)vector[k] * weights[p];
    }
  }
/* terms *//* pairs */  if (ANSWERS) for (int p = 0; p < N_SCORES; ++p) ANSWERS[p] = sums[p];
"""

_VALUES = """\
    const double value = x[j];
"""

_SKIP_NAN = """\
    const double value = x[j];
    if (value != value) continue;
"""

_FILL_GAPS = """\
    const double value = x[j] != x[j] ? NAME_gaps[j] : x[j];
    if (value != value) continue;
"""

_LEVEL = """
/* The value of a text in a column of text: NAN if it is missing, the number of levels if it is not known. */
static inline double NAME_level(int column, const char *text) {
  const char *const *levels = NULL;
  int n = 0;
  switch (column) {
/* cases */  }
  if (!text || !*text) return (double)NAN;
  for (int k = 0; k < n; ++k) if (strcmp(levels[k], text) == 0) return k;
  return n;
}
"""

# The position of a value on an axis of a table, or -1.
_AXES = {
    "levels": """
/* Which of n increasing levels x is; -1 if none. */
static inline int NAME_position_levels(const double *level, int n, double x) {
  int low = 0, high = n;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (level[middle] < x) low = middle + 1; else high = middle;
  }
  return low < n && level[low] == x ? low : -1;
}
""",
    "bins": """
/* How many of n increasing edges are at or below x; -1 for NaN. */
static inline int NAME_position_bins(const double *edge, int n, double x) {
  int low = 0, high = n;
  if (x != x) return -1;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (edge[middle] <= x) low = middle + 1; else high = middle;
  }
  return low;
}
""",
}

_CODES = """\
    int low = 0, high = N_THRESHOLDS;
    while (low < high) {
      const int middle = (low + high) / 2;
      if (NAME_thresholds[middle] <= u) low = middle + 1; else high = middle;
    }
    if (low == 0) continue;
"""

_DENSE = """\
    const float *vector = NAME_table + (size_t)low * WIDTH;
    const int first = 0, n = WIDTH;
"""

_HATS = """\
    const float rest = (float)(low % N_STEPS) / N_STEPS;
    const float vector[2] = {1.0f - rest, rest};
    const int first = low / N_STEPS, n = rest > 0.0f ? 2 : 1;
"""

_VALUE = """\
    const float vector[1] = {u};
    const int first = 0, n = 1;
"""

_POWERS = """\
    if (u == 0.0f) continue;
    float vector[WIDTH];
    const float logarithm = (float)log((double)u + LOG_SHIFT);
    vector[0] = 1.0f;
    for (int k = 1; k < WIDTH; ++k) vector[k] = vector[k - 1] * logarithm;
    const int first = 0, n = WIDTH;
"""

_FIRST_OUTPUT = """\
  return sums[0];
"""

_TWO_CLASSES = """\
  return sums[0] > 0.0;
"""

_MORE_CLASSES = """\
  int best = 0;
  for (int p = 1; p < N_SCORES; ++p) if (sums[p] > sums[best]) best = p;
  return best;
"""

# How scores become probabilities.
_PROBABILITIES = {
    "two classes": """
/* The probabilities of both classes. */
static inline void NAME_probabilities(const double *scores, double *probabilities) {
  probabilities[1] = 1.0 / (1.0 + exp(-scores[0]));
  probabilities[0] = 1.0 / (1.0 + exp(scores[0]));
}
""",
    "softmax": """
/* The probability of every class. */
static inline void NAME_probabilities(const double *scores, double *probabilities) {
  double highest = scores[0], total = 0.0;
  for (int p = 1; p < N_SCORES; ++p) if (scores[p] > highest) highest = scores[p];
  for (int p = 0; p < N_SCORES; ++p) total += probabilities[p] = exp(scores[p] - highest);
  for (int p = 0; p < N_SCORES; ++p) probabilities[p] /= total;
}
""",
    "each": """
/* The probability of every class. */
static inline void NAME_probabilities(const double *scores, double *probabilities) {
  double total = 0.0;
  for (int p = 0; p < N_SCORES; ++p) total += probabilities[p] = 1.0 / (1.0 + exp(-scores[p]));
  for (int p = 0; p < N_SCORES; ++p) probabilities[p] /= total;
}
""",
}
