"""The printed verdicts of benchmarks. No time is asserted."""

import builtins
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, load_digits

from benchmarks import command_line, report
from benchmarks.scale import page as scale_page
from benchmarks.tabular import __main__ as tabular
from benchmarks.tabular import bars, cache, contestants, data, former, generated, run
from benchmarks.tabular.measures import BINS, Result, calibration_error
from benchmarks.tabular.page import render
from benchmarks.tabular.run import Results


def test_the_page_on_scale_is_that_of_the_results_kept():
    found = json.loads((Path(scale_page.__file__).parent / "results.json").read_text())
    shown, made = (text.split("\n\n", 2) for text in (scale_page.PAGE.read_text(), scale_page.page(found)))
    assert shown[2] == made[2]  # the paragraph before names the machine


@pytest.fixture
def digits_for_mnist(tmp_path, monkeypatch):
    X, y = load_digits(return_X_y=True)
    dump_svmlight_file(X[:300], y[:300], str(tmp_path / "train.svm"), zero_based=False)
    data = SimpleNamespace(X_test=X[300:400], y_test=y[300:400].astype(np.int64))
    monkeypatch.setattr(command_line.datasets, "load", lambda name: data)
    return tmp_path / "train.svm"


def test_without_liblinear_the_rest_is_measured(digits_for_mnist, monkeypatch, capsys):
    monkeypatch.setattr(command_line.importlib.util, "find_spec", lambda name: None)
    command_line.command_line(digits_for_mnist, 1, None)
    printed = capsys.readouterr().out
    assert "(target: 0.3 s met)" in printed or "(target: 0.3 s MISSED)" in printed
    assert "LIBLINEAR  not measured: its package is missing. Run pip install liblinear-official" in printed
    command_line.command_line(digits_for_mnist, 1, "no-such-program")
    assert "--liblinear no-such-program: program not found" in capsys.readouterr().out


def test_a_verdict_against_liblinear(digits_for_mnist, tmp_path, capsys):
    """A stand-in for its program writes a model of zeros."""
    program = tmp_path / "train"
    weights = "\n".join(["0 " * 9 + "0"] * 64)
    program.write_text(f"#!/bin/sh\ncat > \"$3\" <<'END'\nlabel 0 1 2 3 4 5 6 7 8 9\nw\n{weights}\nEND\n")
    program.chmod(0o755)
    command_line.command_line(digits_for_mnist, 1, str(program))
    assert "(target: 1× " in capsys.readouterr().out


@pytest.fixture
def without_peers(monkeypatch):
    """As if interpret and lightgbm were not installed, and no data were on this machine."""
    found = builtins.__import__

    def refusing(name, *arguments, **named):
        if name.split(".")[0] in ("interpret", "lightgbm"):
            raise ImportError(f"No module named {name!r}")
        return found(name, *arguments, **named)

    monkeypatch.setattr(builtins, "__import__", refusing)
    monkeypatch.setenv("KERNLINE_DATA", "no such folder")
    monkeypatch.setenv("KERNLINE_OFFLINE", "1")
    monkeypatch.setenv("KERNLINE_CACHE", "no such folder")


def once(*names):
    """These tables, with a single split."""
    return {name: replace(data.TABLES[name], n_splits=1) for name in names}


def test_the_tables_are_compared_without_peers_and_data(without_peers, tmp_path, monkeypatch, capsys):
    """A whole run, with its page, on four sets; only Ridge and the linear models are there to compare with."""
    monkeypatch.setattr(tabular, "TABLES", once("iris", "adult", "3-per-class", "diabetes"))
    monkeypatch.setattr(tabular, "PAGE", tmp_path / "tabular.md")
    monkeypatch.setattr(run, "_SECONDS_FOR_MORE_ROUNDS", 0.0)  # the next test has more
    tabular.main(["--cache", str(tmp_path / "cache.json")])
    assert "adult: skipped. adult.tsv.gz is not on this machine" in capsys.readouterr().out
    page = (tmp_path / "tabular.md").read_text()
    assert "Written by `python -m benchmarks.tabular`." in page
    assert page.count("At most 0.5 below the best of the three on every set: **") == 2  # the sets, and the shapes
    assert "Without ebm-mains on iris." in page
    assert "LightGBM on iris, 3-per-class, diabetes: not available: No module named 'lightgbm'" in page


def test_results_of_peers_are_kept_and_ours_are_not(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(tabular, "TABLES", once("iris"))
    arguments = ["--sets", "iris", "--contestants", "kernline,logistic", "--cache", str(tmp_path / "cache.json")]
    ran = []
    for more in ([], [], ["--again"]):
        tabular.main(arguments + more)
        lines = capsys.readouterr().out.splitlines()
        ran.append({line.split(":")[0].split(", ")[-1] for line in lines if line.startswith("iris, split")})
        monkeypatch.setattr(run, "_SECONDS_FOR_MORE_ROUNDS", 0.0)
    assert ran == [{"kernline", "logistic"}, {"kernline"}, {"kernline", "logistic"}]


def test_slow_peers_can_be_taken_from_the_page():
    """What a page shows of EBM is read back, to the digits that it shows."""
    result = Result(0.8734, log_loss=0.2812, calibration=0.0034, fit_seconds=84.5, predict_seconds=0.007)
    error = Result(0.439, rmse=54.86, fit_seconds=1.72, predict_seconds=0.0006)
    ours, sure = replace(result, score=0.9), replace(result, log_loss=1.5e-7)
    found = [
        Results(data.TABLES["adult"], 48_000, 20_000, 14_653, {"ebm-mains": result, "kernline-log": ours}),
        Results(data.TABLES["mushrooms"], 8_124, 5_686, 2_438, {"ebm-mains": sure, "kernline-log": ours}),
        Results(data.TABLES["diabetes"], 442, 309, 133, {"ebm-mains": error}),
    ]
    page = render(found, command="", threads=1, most_rows=None)
    read = former.former_results(page)
    assert set(read) == {("adult", "ebm-mains"), ("mushrooms", "ebm-mains"), ("diabetes", "ebm-mains")}
    assert read["mushrooms", "ebm-mains"].log_loss == sure.log_loss
    for number in ("score", "log_loss", "calibration", "fit_seconds", "predict_seconds"):
        assert getattr(read["adult", "ebm-mains"], number) == pytest.approx(getattr(result, number))
    assert read["diabetes", "ebm-mains"].rmse == error.rmse


def test_a_result_belongs_to_its_data():
    """The same split gives the same key, another split another one, text and gaps included."""
    table = data.TABLES["1000-levels"]
    assert cache.fingerprint(table.load(0)) == cache.fingerprint(table.load(0)) != cache.fingerprint(table.load(1))


def test_an_unknown_set_is_refused(capsys):
    with pytest.raises(SystemExit):
        tabular.main(["--sets", "iris,no-such-set"])
    assert "no-such-set: choose from iris, wine" in capsys.readouterr().err


def test_calibration_error_by_its_definition():
    rng = np.random.default_rng(0)
    probabilities = rng.dirichlet([1.0, 1.0, 1.0], size=500)
    classes = np.array(["a", "b", "c"])
    y = rng.choice(classes, size=500)
    top, right = probabilities.max(axis=1), classes[probabilities.argmax(axis=1)] == y
    expected = 0.0
    for low in np.arange(BINS) / BINS:
        inside = (top >= low) & (top < low + 1 / BINS)
        if inside.any():
            expected += inside.mean() * abs(right[inside].mean() - top[inside].mean())
    assert calibration_error(y, probabilities, classes) == pytest.approx(expected)
    certain = np.eye(3)[[0, 1, 2]]
    assert calibration_error(classes, certain, classes) == 0.0


def made_results(n_rows=20_000, **by_name):
    """Results on a made-up set, by contestant."""
    table = data.TABLES["adult"]
    return Results(table, n_rows, n_rows, n_rows, {name.replace("_", "-"): result for name, result in by_name.items()})


def test_verdicts_on_accuracy():
    peers = {"logistic": Result(0.80), "linear_svc": Result(0.85), "ebm_mains": Result(0.90)}
    (row,) = bars.accuracy("", [made_results(kernline=Result(0.895), **peers)]).rows
    assert row[:7] == ["adult", "89.50", "80.00", "85.00", "90.00", "-0.50", "yes"]
    below = bars.accuracy("", [made_results(kernline=Result(0.894), **peers)])
    assert below.rows[0][6] == "NO"
    assert below.verdicts[1] == "Above the best of the three on average: **NO**, -0.60 points."


def test_ours_misses_a_bar_where_it_fails_but_not_where_it_is_not_available():
    for reason, word in (("failed: ValueError: a gap", "NO"), ("not available: no such parameter", "–")):
        section = bars.accuracy("", [made_results(kernline=Result(failure=reason), logistic=Result(0.9))])
        assert section.rows[0][6] == word
        assert all(f"**{word}**" in line for line in section.verdicts[:2])


def test_verdicts_on_probabilities_pairs_times_and_regression():
    log = bars.probabilities(
        "", [made_results(kernline_log=Result(log_loss=0.206, calibration=0.03), ebm_mains=Result(log_loss=0.2))]
    )
    assert "**yes**, ratio 1.030, of the means 1.030" in log.verdicts[0]
    assert "**NO**, 0 of 1; not adult" in log.verdicts[1]
    pairs = bars.interactions(
        "", [made_results(kernline_pairs=Result(0.9), kernline=Result(0.91), ebm=Result(0.89), lightgbm=Result(0.95))]
    )
    assert [line.split("**")[1] for line in pairs.verdicts] == ["yes", "yes", "NO", "NO"]
    fits = {"kernline": Result(fit_seconds=1.0), "ebm_mains": Result(fit_seconds=60.0), "ebm": Result(fit_seconds=90.0)}
    fits |= {"kernline_pairs": Result(fit_seconds=9.0), "lightgbm": Result(fit_seconds=2.0)}
    small, large = made_results(1_000, **fits), made_results(**fits)
    times = bars.times("", [small, large])
    assert len(times.rows) == 1
    assert [line.split("**")[1] for line in times.verdicts] == ["yes", "NO", "yes"]
    rmse = bars.regression("", [made_results(kernline=Result(rmse=1.03), ebm_mains=Result(rmse=1.0))])
    assert "**NO**, +3.00 %" in rmse.verdicts[0]


def test_generated_tables_are_what_they_say():
    X, _ = generated.half_missing(0)
    assert np.isnan(X).mean() == pytest.approx(0.5, abs=0.02)
    X, _ = generated.thousand_levels(0)
    assert 900 < X["shop"].nunique() <= 1000
    split = data.TABLES["3-per-class"].load(0)
    assert np.bincount(split.y_train).tolist() == [3] * 10


def test_linear_peers_read_text_and_gaps():
    X, y = generated.houses(0)
    for name in ("logistic", "linear-svc"):
        model = contestants.CLASSIFIERS[name].make(1, True).fit(X[:300], y[:300] > np.median(y))
        assert model.predict(X[300:320]).shape == (20,)


def test_ten_million_rows_in_small(capsys):
    tabular.main(["large", "--rows", "2000"])
    printed = capsys.readouterr().out
    assert "2,000 × 50, 5 of them categories" in printed
    assert "kernline: " in printed


def test_bars_of_reports_without_a_browser(monkeypatch, capsys):
    X, y = load_digits(return_X_y=True)
    model = report.AdditiveSVC(random_state=0).fit(X[:300], y[:300])
    monkeypatch.setattr(report, "missing", lambda: "no browser")
    with report.pages() as opened:
        limits = list(report._written("digits", model, X[300:400], y[300:400], 1e9, opened))
    assert "The page is not measured: no browser." in capsys.readouterr().out
    assert [limit.row()[2:] for limit in limits] == [["≤ 1e+09 s", "yes"], ["≤ 5 MB", "yes"]]
    assert report.Limit("x", 2.0, 1.0, "s").row()[-1] == "NO"
