"""A fit on a cluster, step by step: summaries of the partitions, an encoder, codes, and rounds on the parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from distributed import Future
from sklearn.utils.class_weight import compute_class_weight

from .. import kernels, losses, tables, validation
from ..array_types import Array, Indices, Labels
from ..class_signs import LARGEST
from ..encoding import EncodedData, Encoder
from ..encoding.encoded_data import joined_rows
from ..estimators.additive_base import ALL_PROBLEMS
from ..estimators.choices import Asked, Choice, choose_by, facts_of, knots_of_ranks
from ..estimators.joint_fit import is_none
from ..estimators.labelled import Labelled
from ..estimators.measured import Goal, Output
from ..estimators.progress import FitProgress, logger, show_log
from ..label_summaries import ClassSummary, NumberSummary
from ..losses import Loss
from ..mapped.file import Description
from ..solvers import SolveResult
from ..solvers.intercept import centred, first_intercept_of_labels, free_square, mean_curve, saves
from ..solvers.rounds import Outline, Rounds
from ..training import AdditiveRows, AdditiveSettings, Intercept, kernel_scaling
from . import gathered, tasks
from .gathered import fit_gathered, is_gathered, problems_apart
from .parts import ClusterParts
from .pieces import Piece, pieces_of
from .session import Session
from .tasks import HowToEncode, HowToSolve, HowToSummarise, Known, Sample

if TYPE_CHECKING:
    from .estimators import DaskAdditiveSVC, DaskAdditiveSVR

# Rows that the driver sees, encoded: for a mean of the rows, the importance of columns, and an approximate Hessian.
SAMPLE_ROWS = 4000
# A part has at least so many cells, for all problems together, if there are as many: a round costs some milliseconds.
LEAST_CELLS = 2**21
# W is sent without the slots that no row uses if these are at least this share.
_UNUSED = 0.3


@dataclass(frozen=True)
class Targets:
    """What y is: classes with the weight of each, or outputs with their units."""

    names: list[str]
    losses: Sequence[Loss]
    classes: Labels | None = None
    class_weights: Array | None = None
    costs: Sequence[tuple[float, float]] = ()  # Σ C_i / C of the rows with label 1 and −1 of each problem
    outputs: Sequence[Output] = ()
    epsilons: Array | None = None
    reach: Sequence[float] = ()
    weight: float = 1.0  # Σ C_i / C
    n_rows: int = 0

    @property
    def is_classification(self) -> bool:
        """Whether y are labels."""
        return self.classes is not None


@dataclass(frozen=True)
class ClusterRows:
    """Encoded partitions, and what the driver knows of them."""

    codes: list[Future]
    encoder: Encoder
    pair: tables.TablePair
    known: Known
    sample: Sample
    data: EncodedData  # of the sample
    settings: AdditiveSettings

    @property
    def n_rows(self) -> int:
        """All rows."""
        return sum(self.known.n_rows)

    @property
    def n_cells(self) -> float:
        """About how many cells they have."""
        return self.data.n_cells / self.data.n_rows * self.n_rows


def fit(model: DaskAdditiveSVC | DaskAdditiveSVR, session: Session, X: Any, y: Any, weight: Any, seed: int) -> None:
    """Fit the model."""
    pieces, zero_based, target = pieces_of(session, X, y, weight)
    _keep_origin(model, zero_based, target)
    numbers = not hasattr(model, "multi_class")
    asks_ranks = model.scale in ("auto", "rank")
    how_to_summarise = session.given(HowToSummarise(model._table_rules(), asks_ranks, numbers, seed))
    summaries = [
        session.submit(tasks.summarise, *piece, number, how_to_summarise) for number, piece in enumerate(pieces)
    ]
    # The sample of the rows stays on a worker, where the encoder is made of it.
    summary = session.tree(summaries, tasks.joined)
    session.drop(summaries)
    summaries.clear()
    known: Known = session.result(session.submit(tasks.outline, summary, keep=False))
    _keep_columns(model, known)
    terms, columns = known.table.terms()
    is_small = is_gathered(known.table.known, len(terms))
    if not is_small:
        check_parts(model)
    is_joint = is_small and model._may_be_smooth(_outline(known))
    choice = _choice(model, known, terms, is_joint=is_joint)
    targets = _targets(model, known, choice)
    settings = AdditiveSettings(
        kernel=kernels.get(choice.kernel, model.p),
        approximation=choice.method(model.approximation),
        scale=choice.scale,
        gamma=model.gamma,
        loss=losses.get(choice.loss),
        intercept=Intercept(model.fit_intercept, model.intercept_scaling),
        terms=terms,
        columns=columns,
        seed=seed,
        n_problems=len(targets.losses),
    )
    encoder: Encoder = session.result(
        session.submit(tasks.encoder, summary, session.given(settings), known.table.names, keep=False)
    )
    del summary
    if (model.scale, model.kernel) == ("auto", "auto"):  # as in AdditiveBase._rows
        encoder = replace(encoder, nonnegative_for="")
    pair = tables.build(settings.kernel, settings.method)
    if not pair.symmetric:
        raise ValueError(
            f"{type(model).__name__} needs a method with a symmetric kernel: approximation='hats', an explicit map, or "
            f"kernel='linear'; got approximation={model.approximation!r}."
        )
    how = HowToEncode(encoder, None if is_small else pair, known.table.names, numbers)
    codes = _encoded(session, pieces, how)
    if is_small:
        names = targets.names if problems_apart(model, choice, targets.names, is_joint=is_joint) else [ALL_PROBLEMS]
        local = fit_gathered(model, session, codes, _described(known, encoder, settings), _local(model, choice), names)
        _adopt(model, local, choice)
        return
    rows = ClusterRows(codes, encoder, pair, known, *_sampled(session, codes, how, known, seed), settings)
    model._keep_choice(choice)
    model._keep(*_solved(model, session, rows, targets, choice, seed))
    model._keep_found(replace(targets, n_rows=sum(known.n_rows)))


def _outline(known: Known) -> Labelled[Any]:
    """Labels of no rows, with the classes of all."""
    classes = known.y.classes if isinstance(known.y, ClassSummary) else np.zeros(2)
    X, none = np.zeros((0, known.table.known.n_features)), np.zeros(0)
    number = none.astype(np.int64)
    return Labelled(X=X, y=number, weight=None, weights=none, names=[], targets=[], classes=classes, number=number)


def _described(known: Known, encoder: Encoder, settings: AdditiveSettings) -> Description:
    """What a Dataset of all rows has besides these."""
    table = known.table.known
    ranges = _ranges(table, encoder)
    return Description(
        encoder=encoder,
        kernel=settings.kernel,
        scale=settings.scale,
        n_rows=table.n_rows,
        chunk_rows=table.n_rows,
        names=known.table.names,
        classes=known.y.classes if isinstance(known.y, ClassSummary) else None,
        has_labels=True,
        has_weights=table.is_weighted,
        limits=ranges.get("limits", np.zeros((0, 2))),
        booleans=ranges.get("booleans", np.zeros(0, dtype=np.bool_)),
    )


def _local(model: Any, choice: Choice) -> Any:
    """The plain estimator, with what was chosen for all rows."""
    own = {name: value for name, value in model.get_params(deep=False).items() if name != "client"}
    local = model._local(**own)
    if not isinstance(model.random_state, Integral):
        local.set_params(random_state=model._seed)
    chosen = {"kernel": choice.kernel, "scale": choice.scale, "loss": choice.loss}
    local.set_params(**chosen, categorical="auto", missing="own", n_jobs=None, verbose=0)
    return local


def _adopt(model: Any, local: Any, choice: Choice) -> None:
    """Keep what the plain estimator has found."""
    own = local.get_params(deep=False)
    vars(model).pop("feature_importances_", None)  # those of a former fit
    vars(model).update({name: value for name, value in vars(local).items() if name not in own})
    model._reason = choice.reason


def _keep_origin(model: Any, zero_based: bool | None, target: str | None) -> None:
    """What the command line must know of the files, as for a model that it trained in one process."""
    for name, value in (("zero_based_", zero_based), ("target_name_", target)):
        vars(model).pop(name, None)
        if value is not None:
            setattr(model, name, value)


def _keep_columns(model: Any, known: Known) -> None:
    model.n_features_in_ = known.table.known.n_features
    vars(model).pop("feature_names_in_", None)
    if known.table.names is not None:
        model.feature_names_in_ = known.table.names


def _choice(model: Any, known: Known, terms: tuple[Any, ...], *, is_joint: bool) -> Choice:
    """The kernel, scale, loss and C: as AdditiveSVC chooses them."""
    table = known.table.known
    shape = table.n_rows, table.n_features
    asked = Asked(
        kernel=model._kernels()[0],
        scale=model.scale,
        loss=model.loss,
        C=model.C,
        is_joint=is_joint,
        has_pairs=not is_none(model._interactions()),
        losses=model._auto_losses,
    )
    choice = choose_by(asked, facts_of(table.column_range, shape, terms, table.some_rows, sparse=table.sparse))
    if choice.scale == "rank" and choice.C is None:
        choice = replace(choice, knots=knots_of_ranks(table.sample.X, table.n_rows, terms))
    if model.verbose:
        show_log()
        logger.info("%s", choice.line)
    return choice


def _targets(model: Any, known: Known, choice: Choice) -> Targets:
    if isinstance(known.y, ClassSummary):
        return _class_targets(model, known.y, losses.get(choice.loss), sum(known.n_rows))
    return _number_targets(model, known.y, choice)


def _class_targets(model: Any, found: ClassSummary, loss: Loss, n_rows: int) -> Targets:
    classes = found.classes
    if classes.size < 2:
        raise ValueError(
            f"{type(model).__name__} needs samples of at least two classes; y holds one class only: "
            f"{classes.tolist()[0]!r}."
        )
    validation.ask_about_many_classes(classes, n_rows)
    factors, weights = None, found.weights
    if model.class_weight is not None:
        factors = compute_class_weight(model.class_weight, classes=classes, y=classes, sample_weight=found.weights)
        if not (factors > 0.0).all():
            raise ValueError("class_weight: every weight must be positive. To leave out a class, leave out its rows.")
        weights = factors * found.weights
    positive = list(range(classes.size)) if classes.size > 2 else [1]
    total = float(weights.sum())
    return Targets(
        names=[f"class {classes[k]}" for k in positive],
        losses=[loss] * len(positive),
        classes=classes,
        class_weights=factors,
        costs=[(float(weights[k]), total - float(weights[k])) for k in positive],
        reach=[1.0] * len(positive),
        weight=total,
    )


def _number_targets(model: Any, found: NumberSummary, choice: Choice) -> Targets:
    centred_ = model.fit_intercept and model.intercept_scaling is None
    goal = Goal(losses.get(choice.loss), model.epsilon, centred_)
    outputs, each, reach = [], [], []
    for mean, spread, low, high in zip(found.mean, found.spread, found.minimum, found.maximum, strict=True):
        unit = float(spread) if high > low else max(abs(float(mean)), 1.0)
        output = Output(unit, float(mean) / unit if centred_ else 0.0)
        outputs.append(output)
        is_zero = high == low and (centred_ or mean == 0.0)
        each.append(goal.loss_of(output, np.zeros(1) if is_zero else np.ones(1)))
        reach.append((float(high - low) / unit) or 1.0)
    n = len(outputs)
    return Targets(
        names=["y"] if n == 1 else [f"output {k}" for k in range(n)],
        losses=each,
        outputs=outputs,
        epsilons=np.array([goal.relative_epsilon(output) * output.spread for output in outputs]),
        reach=reach,
        weight=found.weight,
    )


def _encoded(session: Session, pieces: list[Piece], how: HowToEncode) -> list[Future]:
    """Encode every partition where it is."""
    given = session.given(how)
    codes = [session.submit(tasks.encode, *piece, number, given) for number, piece in enumerate(pieces)]
    for piece in pieces:
        session.drop(piece)
    pieces.clear()  # the values are no longer held; codes can still be computed again from the collection
    return codes


def _sampled(
    session: Session, codes: list[Future], how: HowToEncode, known: Known, seed: int
) -> tuple[Sample, EncodedData]:
    """A sample of the rows, for the driver."""
    n_rows, given = sum(known.n_rows), session.given(how)
    samples = [
        session.submit(tasks.sampled, one, given, -(-SAMPLE_ROWS * n // n_rows), seed)
        for one, n in zip(codes, known.n_rows, strict=True)
    ]
    sample: Sample = session.result(session.tree(samples, tasks.joined_samples))
    session.drop(samples)
    return sample, replace(joined_rows(sample.data), encoder=how.encoder)


def _solved(
    model: Any, session: Session, rows: ClusterRows, targets: Targets, choice: Choice, seed: int
) -> tuple[Sequence[SolveResult], AdditiveRows]:
    """Solve all problems; their solutions, and the sample as the rows of a fit."""
    scaling = kernel_scaling(rows.encoder, rows.pair, rows.settings, rows.sample.kernel)
    norms = scaling.factor * np.concatenate(rows.sample.norms)
    curve = mean_curve(rows.data, rows.pair, scaling.scales, norms) if scaling.free_intercept else None
    mean = None if curve is None else curve.of(rows.data, rows.pair)
    if mean is None or not saves(mean, norms):
        curve = mean = None
    inner = norms if mean is None else centred(norms, mean.products, mean.square)
    square = free_square(inner) if scaling.free_intercept else scaling.intercept_square
    used = _used(rows)
    C = 1.0 if choice.C is None else choice.C
    _check_costs(C, targets, rows)
    how = HowToSolve(
        pair=rows.pair,
        scaling=scaling,
        mean=curve,
        square=square,
        used=used,
        C=C,
        losses=targets.losses,
        classes=targets.classes,
        class_weights=targets.class_weights,
        means=np.array([output.mean * output.spread for output in targets.outputs]),
        spreads=np.array([output.spread for output in targets.outputs]),
    )
    given = session.given(how)
    codes = _grouped(session, rows, len(targets.losses))
    parts = ClusterParts(session, [session.submit(tasks.part_rows, one, given) for one in codes])
    outline = Outline(
        pair=rows.pair,
        scales=scaling.scales,
        losses=targets.losses,
        n_rows=rows.n_rows,
        n_cells=rows.n_cells,
        square=square,
        mean_square=0.0 if curve is None else curve.square,
        free_intercept=scaling.free_intercept,
        norm=float(inner.mean()),
        cost=C * targets.weight / rows.n_rows,
        firsts=_firsts(targets, C),
        reach=targets.reach,
        used=used,
    )
    progress = FitProgress(model, targets.names, model.max_iter, int(model.verbose))
    watches = [progress.problem(k) for k in range(len(targets.names))]
    results = Rounds(model.tol, model.max_iter, seed).solve(parts, outline, watches)
    for watch, result in zip(watches, results, strict=True):
        watch.end(result)
    progress.end(model.tol)
    if targets.outputs:
        results = [output.in_unit(one) for output, one in zip(targets.outputs, results, strict=True)]
    table = rows.known.table.known
    kept = AdditiveRows(
        data=rows.data,
        encoder=rows.encoder,
        pair=rows.pair,
        gamma=scaling.gamma,
        scales=scaling.scales,
        norms=norms,
        intercept_square=scaling.intercept_square,
        free_intercept=scaling.free_intercept,
        mean=None,
        loss=targets.losses[0],
        **_ranges(table, rows.encoder),
        sample_of=rows.n_rows,
    )
    return results, kept


def _grouped(session: Session, rows: ClusterRows, n_problems: int) -> list[Future]:
    """The codes of neighbouring partitions joined, so that parts are large enough; empty partitions go with others."""
    cells = np.array(rows.known.n_rows) * (rows.n_cells / rows.n_rows)
    n_parts = int(min(np.count_nonzero(cells), max(1.0, cells.sum() * n_problems / LEAST_CELLS)))
    middle = (np.cumsum(cells) - 0.5 * cells) / cells.sum()
    group = np.minimum((middle * n_parts).astype(int), n_parts - 1)
    members = [np.flatnonzero(group == k) for k in range(n_parts)]
    return [
        rows.codes[each[0]] if each.size == 1 else session.submit(tasks.joined_codes, [rows.codes[k] for k in each])
        for each in members
        if each.size
    ]


def _ranges(table: Any, encoder: Encoder) -> dict[str, Any]:
    if table.sparse:
        return {}
    found = table.column_range
    limits = np.column_stack([found.minimum, found.maximum]) if encoder.clips else np.zeros((0, 2))
    return {"limits": limits, "booleans": table.booleans}


def _used(rows: ClusterRows) -> Indices | None:
    used = rows.sample.used
    return np.flatnonzero(used) if used is not None and used.mean() <= 1.0 - _UNUSED else None


def _check_costs(C: float, targets: Targets, rows: ClusterRows) -> None:
    weights = np.concatenate(rows.sample.weight)
    factors = np.ones(1) if targets.class_weights is None else targets.class_weights
    low, high = C * weights.min() * factors.min(), C * weights.max() * factors.max()
    if not (low >= 1.0 / LARGEST and high <= LARGEST):
        raise ValueError(
            f"C times the weights ranges from {low:.3g} to {high:.3g}; float32 needs it between {1.0 / LARGEST:g} and "
            f"{LARGEST:g}."
        )


def _firsts(targets: Targets, C: float) -> list[float]:
    if not targets.is_classification:
        return [0.0] * len(targets.outputs)  # y is centred
    return [
        first_intercept_of_labels(loss, C * np.array(costs))
        for loss, costs in zip(targets.losses, targets.costs, strict=True)
    ]


def check_supported(model: Any) -> None:
    """Refuse parameters that only fits to values in memory have."""
    if getattr(model.approximation, "spacing", None) == "quantile":
        raise ValueError(
            f"{type(model).__name__} does not place knots by values: pass an approximation without spacing='quantile'."
        )


def check_parts(model: Any) -> None:
    """Refuse parameters that need all codes in one process."""
    asked = {
        f"interactions={model._interactions()!r:.50}": not is_none(model._interactions()),
        "solver='newton'": model.solver == "newton",
        "multi_class='crammer-singer'": getattr(model, "multi_class", "") == "crammer-singer",
    }
    refused = [name for name, is_asked in asked.items() if is_asked]
    if refused:
        raise ValueError(
            f"{refused[0]} needs all codes in one process, and there are more than {gathered.MOST_BYTES / 2**30:g} GB "
            "of them. Leave the parameter at its default, or fit to fewer rows."
        )
