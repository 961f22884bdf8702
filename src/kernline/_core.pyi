"""The C++ core (native/bindings.cpp). Arrays must be of the exact type and contiguous: nothing is copied on the way."""

from typing import Any

from numpy.typing import NDArray

def target() -> str: ...
def targets() -> list[str]: ...

class Rows:
    @staticmethod
    def dense_codes(codes: NDArray[Any]) -> Rows: ...
    @staticmethod
    def packed(row_start: NDArray[Any], words: NDArray[Any], n_features: int, code_bits: int) -> Rows: ...
    @staticmethod
    def payload(row_start: NDArray[Any], columns: NDArray[Any], payload: NDArray[Any], n_features: int) -> Rows: ...
    @staticmethod
    def dense_values(values: NDArray[Any]) -> Rows: ...
    @staticmethod
    def sparse_values(
        row_start: NDArray[Any], columns: NDArray[Any], values: NDArray[Any], n_features: int
    ) -> Rows: ...

class Table:
    @staticmethod
    def dense(rows: NDArray[Any]) -> Table: ...
    @staticmethod
    def pair(pairs: NDArray[Any], width: int) -> Table: ...
    @staticmethod
    def value() -> Table: ...
    @staticmethod
    def square() -> Table: ...
    @staticmethod
    def powers(width: int) -> Table: ...
    @staticmethod
    def nodes(data: NDArray[Any], width: int, first_is_constant: bool) -> Table: ...

class DualSolver:
    def __init__(
        self,
        rows: Rows,
        read: Table,
        write: Table,
        scales: NDArray[Any],
        signed_cost: NDArray[Any],
        curvature: NDArray[Any],
        intercept_square: float,
        squared_hinge: bool,
        members: NDArray[Any] | None,
        seed: int,
        shuffle: bool,
    ) -> None: ...
    def sweep(self, seconds: float) -> bool: ...
    def rebuild(self, seconds: float) -> bool: ...
    def evaluate(self, seconds: float) -> bool: ...
    def set_negligible(self, share: float) -> None: ...
    def wake_all(self) -> None: ...
    def grow(self, factor: float) -> None: ...
    def set_alpha(self, alpha: NDArray[Any]) -> None: ...
    def copy_weights(self, out: NDArray[Any]) -> None: ...
    def copy_alpha(self, out: NDArray[Any]) -> None: ...
    @property
    def intercept(self) -> float: ...
    @property
    def n_active(self) -> int: ...
    @property
    def dual(self) -> float: ...
    @property
    def active_gap(self) -> float: ...
    @property
    def gap(self) -> float: ...
    @property
    def loss_sum(self) -> float: ...
    @property
    def squared_norm(self) -> float: ...

class CodeMap:
    def __init__(
        self,
        thresholds: NDArray[Any],
        offsets: NDArray[Any],
        factors: NDArray[Any],
        edge_start: NDArray[Any],
        edges: NDArray[Any],
        levels: NDArray[Any],
        clip: bool,
        keeps_zeros: bool,
    ) -> None: ...

class Source:
    @staticmethod
    def dense(x: NDArray[Any]) -> Source: ...
    @staticmethod
    def csr(row_start: NDArray[Any], columns: NDArray[Any], values: NDArray[Any], n_features: int) -> Source: ...

def column_range(
    source: Source,
    minimum: NDArray[Any],
    maximum: NDArray[Any],
    n_nonzero: NDArray[Any],
    row_nonzero: NDArray[Any],
    n_threads: int,
) -> None: ...
def row_nonzero(source: Source, out: NDArray[Any], n_threads: int) -> None: ...
def value_range(source: Source, n_threads: int) -> tuple[float, float, bool]: ...

# One function a sink: see `bind_encoding` in bound_encode.hpp.
def encode(map: CodeMap, source: Source, *sink_then_n_threads: Any) -> Any: ...
def predict(
    map: CodeMap,
    source: Source,
    table: Table,
    weights: NDArray[Any],
    intercepts: NDArray[Any],
    out: NDArray[Any],
    n_threads: int,
) -> None: ...
def decision(
    rows: Rows,
    table: Table,
    weights: NDArray[Any],
    intercepts: NDArray[Any],
    out: NDArray[Any],
    n_threads: int,
) -> None: ...
def read_members(
    rows: Rows, table: Table, weights: NDArray[Any], members: NDArray[Any], out: NDArray[Any], n_threads: int
) -> None: ...
def add_members(
    rows: Rows, table: Table, t: NDArray[Any], members: NDArray[Any], sums: NDArray[Any], n_threads: int
) -> None: ...
def add_image(
    rows: Rows,
    table: Table,
    weights: NDArray[Any],
    s: NDArray[Any],
    members: NDArray[Any],
    sums: NDArray[Any],
    n_threads: int,
) -> None: ...
def gram_dense(
    name: str,
    p: float,
    x: NDArray[Any],
    x_companion: NDArray[Any],
    y: NDArray[Any],
    y_companion: NDArray[Any],
    out: NDArray[Any],
    n_threads: int,
) -> None: ...
def gram_sparse(
    name: str,
    p: float,
    n_features: int,
    x_start: NDArray[Any],
    x_columns: NDArray[Any],
    x: NDArray[Any],
    x_companion: NDArray[Any],
    y_start: NDArray[Any],
    y_columns: NDArray[Any],
    y: NDArray[Any],
    y_companion: NDArray[Any],
    out: NDArray[Any],
    n_threads: int,
) -> None: ...

class MergeGrid:
    def __init__(self, h: NDArray[Any], degradation: NDArray[Any]) -> None: ...

class BudgetedSGD:
    def __init__(
        self,
        rows: Rows,
        signed_weights: NDArray[Any],
        grid: MergeGrid,
        gamma: float,
        C: float,
        budget: int,
        search: str,
        maintenance: str,
        intercept: bool,
        published: bool,
        seed: int,
        shuffle: bool,
    ) -> None: ...
    def resume(
        self,
        vectors: NDArray[Any],
        counts: NDArray[Any],
        pasts: NDArray[Any],
        bias: float,
        bias_past: float,
        weight_sum: float,
        average_norm: float,
        n_seen: float,
        n_steps: int,
    ) -> None: ...
    def run(self, seconds: float) -> bool: ...
    def begin_average(self) -> None: ...
    def go_on_averaging(self) -> None: ...
    def count_rows_as_seen(self) -> None: ...
    def sample_times(self, one_in: int) -> None: ...
    def compare_searches(self) -> None: ...
    def copy_vectors(self, out: NDArray[Any]) -> None: ...
    def copy_counts(self, counts: NDArray[Any], pasts: NDArray[Any]) -> None: ...
    def copy_distances(self, out: NDArray[Any]) -> bool: ...
    @property
    def n_vectors(self) -> int: ...
    @property
    def n_features(self) -> int: ...
    @property
    def n_steps(self) -> int: ...
    @property
    def n_seen(self) -> float: ...
    @property
    def scale(self) -> float: ...
    @property
    def bias(self) -> float: ...
    @property
    def bias_past(self) -> float: ...
    @property
    def weight_sum(self) -> float: ...
    @property
    def average_norm(self) -> float: ...
    @property
    def loss_sum(self) -> float: ...
    @property
    def n_violations(self) -> int: ...
    @property
    def n_maintained(self) -> int: ...
    @property
    def n_repeated(self) -> int: ...
    @property
    def maintenance_seconds(self) -> float: ...
    @property
    def search_seconds(self) -> float: ...
    @property
    def compared(self) -> tuple[int, int, int, float, float]: ...

def budgeted_decision(
    rows: Rows,
    vectors: NDArray[Any],
    coefficients: NDArray[Any],
    gamma: float,
    out: NDArray[Any],
    n_threads: int,
) -> None: ...
