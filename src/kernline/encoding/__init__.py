"""Values → cells of the solver: the encoder, its terms, and the rows that it makes."""

from .column_range import ColumnRange
from .column_scaling import SCALES, Scale, sample_of_values
from .columns import Columns
from .encoded_data import EncodedData
from .encoder import Encoder
from .level_table import LevelTable
from .terms import TERMS, Axis, TableTerm, Term, TermSpec, register
from .units import Units, units_of

__all__ = [
    "SCALES",
    "TERMS",
    "Axis",
    "ColumnRange",
    "Columns",
    "EncodedData",
    "Encoder",
    "LevelTable",
    "Scale",
    "TableTerm",
    "Term",
    "TermSpec",
    "Units",
    "register",
    "sample_of_values",
    "units_of",
]
