"""The search of ``cv`` and ``train -C``: which estimator searches, and how the result is reported."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from .output import table
from .regression import measured

if TYPE_CHECKING:
    from ..estimators.additive_cv import AdditiveSVCCV
    from ..estimators.additive_svr_cv import AdditiveSVRCV
    from ..estimators.budgeted import BudgetedSVC
    from ..estimators.nystrom import NystromSVC
    from ..estimators.search import SearchResult
    from .data import LabelledRows
    from .estimators import SVM

Setting: TypeAlias = dict[str, str | float]
Record: TypeAlias = dict[str, object]

_BUDGETED_CS = [0.1, 1.0, 10.0, 100.0]


@dataclass(frozen=True)
class Found:
    """The settings of a search: the best with its score, all that were tried, and those that were skipped."""

    best: Setting
    tried: list[Setting]
    skipped: list[Setting]

    @property
    def record(self) -> Record:
        """For --json."""
        return {"best": self.best, "tried": self.tried, "skipped": self.skipped}

    @property
    def lines(self) -> list[str]:
        """For people."""
        rows = [[f"{v:.4f}" if name == "score" else _short(v) for name, v in row.items()] for row in self.tried]
        lines = table(list(self.best), rows)
        if self.skipped:
            lines.append("Not tried, because the scores had fallen for three C in a row:")
            lines += [f"  {_text(row)}" for row in self.skipped]
        highest = max(self.tried, key=lambda row: float(row["score"]))
        if highest["score"] != self.best["score"]:  # of the evidence: see SearchResult
            lines.append(
                f"C = auto is taken: by chance alone, its score may differ as much from {highest['score']:.4f}."
            )
        best = {name: value for name, value in self.best.items() if name != "score"}
        lines.append(f"Cross Validation Score = {self.best['score']:.4f} ({_text(best)})")
        return lines


@dataclass(frozen=True)
class Search:
    """A search over C, and over the other parameter that the estimator can search."""

    model: AdditiveSVCCV | AdditiveSVRCV | NystromSVC | BudgetedSVC
    Cs: list[float] | None
    folds: int
    scoring: str | None

    @property
    def is_regression(self) -> bool:
        """Whether the target is a number."""
        from sklearn.base import is_regressor

        return bool(is_regressor(self.model))

    def run(self, data: LabelledRows) -> Found:
        """Search, and refit the model to all rows with the best settings."""
        from ..estimators.additive_search import AdditiveSearch
        from ..estimators.nystrom import NystromSVC

        if isinstance(self.model, AdditiveSearch):
            return _found("kernel", self._kernels(self.model, data))
        if isinstance(self.model, NystromSVC):
            return _found("gamma", self._gammas(self.model, data))
        return _found("", self._costs(self.model, data))

    def options_of_train(self, found: Found) -> list[str]:
        """A line with the options that train the best additive model, once `run` has fitted it."""
        from ..estimators.additive_search import AdditiveSearch

        model = self.model
        if not isinstance(model, AdditiveSearch):
            return []
        chosen = {"--kernel": model.kernel_, "--scale": model.scale_, "--loss": model.loss_, "-c": found.best["C"]}
        given = {option: _short(value) for option, value in chosen.items() if isinstance(value, str | float)}
        return [f"Options of train: {' '.join(f'{option} {value}' for option, value in given.items())}"]

    def _kernels(self, model: AdditiveSVCCV | AdditiveSVRCV, data: LabelledRows) -> SearchResult[str]:
        import numpy as np

        from ..estimators.search import SearchResult

        model.fit(data.X, data.y)
        kernels = model._kernels() if len(model._kernels()) > 1 else [model.kernel_]
        Cs, scores = model.Cs_, model.scores_
        if hasattr(model, "evidence_scores_"):
            Cs, scores = np.append(Cs, np.nan), np.append(scores, model.evidence_scores_[:, None], axis=1)
        return SearchResult(list(map(str, kernels)), Cs, scores)

    def _gammas(self, model: NystromSVC, data: LabelledRows) -> SearchResult[float]:
        from ..estimators.search import SearchResult

        gammas = None if model.gamma == "scale" else [model.gamma]
        model.choose(data.X, data.y, gammas, self.Cs, cv=self.folds, scoring=self.scoring)
        return SearchResult(model.gammas_.tolist(), model.Cs_, model.scores_)

    def _costs(self, model: BudgetedSVC, data: LabelledRows) -> SearchResult[str]:
        """By scikit-learn: a fit on a budget has no path of C to follow."""
        import numpy as np
        from sklearn.base import clone
        from sklearn.model_selection import GridSearchCV

        from ..estimators.search import SearchResult

        Cs = np.array(self.Cs or _BUDGETED_CS)
        grid = GridSearchCV(clone(model), {"C": Cs}, cv=self.folds, scoring=self.scoring, refit=False)
        results = grid.fit(data.X, data.y).cv_results_
        scores = np.column_stack([results[f"split{fold}_test_score"] for fold in range(self.folds)])
        found = SearchResult([""], Cs, scores[None])
        model.set_params(C=found.best_C).fit(data.X, data.y)
        return found


def validated(model: SVM, data: LabelledRows, folds: int, seed: int) -> tuple[Record, list[str]]:
    """The accuracy, or R², by cross-validation: every row is predicted once, by a model that has not seen it."""
    from sklearn.base import is_regressor
    from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict

    if is_regressor(model):
        split = KFold(folds, shuffle=True, random_state=seed)
        record, line = measured(cross_val_predict(model, data.X, data.y, cv=split), data.y)
        return record | {"folds": folds}, [f"Cross Validation {line}"]
    split = StratifiedKFold(folds, shuffle=True, random_state=seed)
    labels = cross_val_predict(model, data.X, data.y, cv=split)
    correct, rows = int((labels == data.y).sum()), len(data.y)
    record = {"accuracy": correct / rows, "correct": correct, "rows": rows, "folds": folds}
    return record, [f"Cross Validation Accuracy = {100.0 * correct / rows:g}%"]


def _found(parameter: str, result: SearchResult[str] | SearchResult[float]) -> Found:
    """The settings that were searched; a score that is NaN marks what was not tried."""

    def setting(value: str | float, C: float) -> Setting:
        cost = C if C == C else "auto"  # as -c takes it
        return {parameter: value, "C": cost} if parameter else {"C": cost}

    values: list[str | float] = list(result.values)
    value, c = result.best
    found = Found(setting(values[value], float(result.Cs[c])) | {"score": result.best_score}, [], [])
    for value, means in enumerate(result.means.tolist()):
        for C, score in zip(result.Cs.tolist(), means, strict=True):
            here = setting(values[value], C)
            if score == score:
                found.tried.append(here | {"score": score})
            else:
                found.skipped.append(here)
    return found


def _text(setting: Setting) -> str:
    return ", ".join(f"{name} = {_short(value)}" for name, value in setting.items())


def _short(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"
