"""Cross-validation as ``cv`` and ``train`` run it: the estimators search, this reports what they found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .output import table

Found = tuple[dict[str, Any], list[str]]


@dataclass(frozen=True)
class AdditiveSearch:
    """C and the kernel, by AdditiveSVCCV."""

    model: Any

    def run(self, content: Any) -> Found:
        """Search, and refit to all rows."""
        model = self.model.fit(content.X, content.y)
        kernels = model.kernel if isinstance(model.kernel, list) else [model.kernel]
        means = model.scores_.mean(axis=2)
        tried = [
            {"kernel": kernel, "C": C, "score": means[k, c]}
            for k, kernel in enumerate(kernels)
            for c, C in enumerate(model.Cs_)
        ]
        best = {"kernel": model.kernel_, "C": model.C_, "score": model.best_score_}
        return _report(tried, best)


@dataclass(frozen=True)
class LandmarkSearch:
    """C and gamma, by NystromSVC.choose."""

    model: Any
    Cs: list[float] | None
    folds: int
    scoring: str | None

    def run(self, content: Any) -> Found:
        """Search, and refit to all rows."""
        gamma = self.model.gamma
        gammas = None if gamma == "scale" else [gamma]
        model = self.model.choose(content.X, content.y, gammas, self.Cs, cv=self.folds, scoring=self.scoring)
        means = model.scores_.mean(axis=2)
        tried = [
            {"gamma": gamma, "C": C, "score": means[g, c]}
            for g, gamma in enumerate(model.gammas_)
            for c, C in enumerate(model.Cs_)
        ]
        return _report(tried, {"gamma": model.gamma, "C": model.C, "score": model.best_score_})


@dataclass(frozen=True)
class BudgetSearch:
    """C of a BudgetedSVC, which has no search of its own, by scikit-learn's."""

    model: Any
    Cs: list[float]
    folds: int
    scoring: str | None

    def run(self, content: Any) -> Found:
        """Search, and refit to all rows."""
        from sklearn.base import clone
        from sklearn.model_selection import GridSearchCV

        search = GridSearchCV(clone(self.model), {"C": self.Cs}, cv=self.folds, scoring=self.scoring, refit=False)
        search.fit(content.X, content.y)
        self.model.set_params(**search.best_params_).fit(content.X, content.y)
        means = search.cv_results_["mean_test_score"]
        tried = [{"C": C, "score": float(score)} for C, score in zip(self.Cs, means, strict=True)]
        return _report(tried, {"C": self.model.C, "score": float(search.best_score_)})


def validated(model: Any, content: Any, folds: int, seed: int) -> Found:
    """The accuracy of one model by cross-validation: every row is predicted once, by a model that has not seen it."""
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    split = StratifiedKFold(folds, shuffle=True, random_state=seed)
    labels = cross_val_predict(model, content.X, content.y, cv=split)
    correct, rows = int((labels == content.y).sum()), len(content.y)
    record = {"accuracy": correct / rows, "correct": correct, "rows": rows, "folds": folds}
    return record, [f"Cross Validation Accuracy = {100.0 * correct / rows:g}%"]


def _report(grid: list[dict[str, Any]], best: dict[str, Any]) -> Found:
    """The record and the lines of a search; a score that is not a number marks what was not tried."""
    tried = [row for row in grid if row["score"] == row["score"]]
    skipped = [_setting(row) for row in grid if row["score"] != row["score"]]
    lines = table(list(best), [[_short(value) for value in row.values()] for row in tried])
    if skipped:
        lines.append("Not tried, as the scores had fallen for three C in a row:")
        lines += [f"  {_text(setting)}" for setting in skipped]
    lines.append(f"Cross Validation Score = {best['score']:.4f} ({_text(_setting(best))})")
    return {"best": best, "tried": tried, "skipped": skipped}, lines


def _setting(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "score"}


def _text(setting: dict[str, Any]) -> str:
    return ", ".join(f"{name} = {_short(value)}" for name, value in setting.items())


def _short(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"
