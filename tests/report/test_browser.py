"""Reports as people see them, in a headless Chromium. Skipped where there is none."""

import re
import shutil
import subprocess
import tarfile

import numpy as np
import pandas as pd
import pytest

import kernline
from kernline import AdditiveSVC, AdditiveSVR
from kernline.report import listing as listing_module

from .browsing import opened
from .models import digits, regression, sparse_model, table_model, words
from .test_embedding import HOSTILE


def scores_of(model, X):
    scores = model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)
    return np.asarray(scores).reshape(len(scores), -1)


def agree(found, expected):
    """To 1e-6, of the larger of 1 and the score: the model's weights are float32."""
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


@pytest.fixture(scope="module")
def table_report(tmp_path_factory):
    """A model of numbers, categories, gaps and pairs, its rows, and its page."""
    model, X, y = table_model()
    path = tmp_path_factory.mktemp("table") / "report.html"
    kernline.report(model, X, y, path)
    return model, X, path


def chosen_row(page):
    label = page.evaluate("document.getElementById('row-choice').selectedOptions[0].textContent")
    return int(re.match(r"Row (\d+):", label).group(1)) - 1


def test_every_model_gives_its_own_decision_values(chromium, kinds, tmp_path):
    path = tmp_path / "report.html"
    for name, model, X, y in kinds:
        kernline.report(model, X, y, path)
        expected = scores_of(model, X)
        with opened(chromium, path) as report:
            report.page.locator("#feature-chart").scroll_into_view_if_needed()
            for number in range(2):
                report.page.select_option("#row-choice", str(number))
                agree(report.scores(), expected[chosen_row(report.page)])
            assert report.messages == [], name
            assert report.outside() == [], name


def moved(report, selector, value):
    """Move a slider, or type a number."""
    script = "(field, value) => { field.value = value; field.dispatchEvent(new Event('input', {bubbles: true})); }"
    report.page.locator(selector).evaluate(script, str(value))
    return float(report.page.locator(selector).input_value() or "nan")


def add_control(report, name):
    """Show the control of a feature, by the search."""
    report.page.fill("#row-search", name)
    report.page.locator("#row-found button").first.click()


def test_changed_values_give_the_decision_of_the_model(chromium, table_report):
    model, X, path = table_report
    with opened(chromium, path) as report:
        row = X.iloc[[chosen_row(report.page)]].copy()
        for name, value in (("age", 33.25), ("balance", -7.5), ("income", 12345.678), ("balance", 1e9), ("age", -5)):
            add_control(report, name)
            slider = f'input[type="range"][aria-label="{name}"]'
            row[name] = moved(report, slider, value)  # a slider stays within its range
            agree(report.scores(), scores_of(model, row)[0])
            field = f'input[aria-label="{name}, as a number"]'
            row[name] = moved(report, field, value)
            agree(report.scores(), scores_of(model, row)[0])
        row["income"] = moved(report, 'input[aria-label="income, as a number"]', "")
        assert np.isnan(row["income"].iloc[0])
        agree(report.scores(), scores_of(model, row)[0])
        for name, level in (("colour", "violet"), ("colour", "red"), ("grade", "3")):
            add_control(report, name)
            report.page.select_option(f'select[aria-label="{name}"]', label=level)
            row[name] = level if name == "colour" else int(level)
            agree(report.scores(), scores_of(model, row)[0])
        report.page.select_option('select[aria-label="colour"]', label="(missing)")
        row["colour"] = None
        agree(report.scores(), scores_of(model, row)[0])
        report.page.select_option('select[aria-label="colour"]', label="(another level)")
        row["colour"] = "no such colour"
        agree(report.scores(), scores_of(model, row)[0])
        shown = report.page.inner_text("#row-decision")
        assert f"{report.scores()[0]:.6f}" in shown
        parts = report.page.locator("#row-parts .part").all_inner_texts()
        rest = re.findall(r"[+−]?\d+\.\d+", report.page.inner_text("#row-others"))
        total = sum(float(text.replace("−", "-")) for text in [*parts, *rest])
        assert total == pytest.approx(report.scores()[0], abs=1e-4 * (len(parts) + 2))
        report.page.click("#row-reset")
        agree(report.scores(), scores_of(model, X)[chosen_row(report.page)])
        assert report.messages == []


@pytest.mark.parametrize("scale", ["rank", "max", "minmax"])
def test_a_flag_is_a_choice_of_two(chromium, tmp_path, scale):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"flag": (rng.random(300) < 0.3).astype(float), "share": rng.random(300)})
    model = AdditiveSVC("chi2", scale=scale, random_state=0).fit(X, X["flag"] + X["share"] > 0.7)
    kernline.report(model, X, X["flag"] + X["share"] > 0.7, tmp_path / "report.html")
    with opened(chromium, tmp_path / "report.html") as report:
        row = X.iloc[[chosen_row(report.page)]].copy()
        assert report.page.locator('input[type="range"]').count() == 1
        select = report.page.locator('select[aria-label="flag"]')
        assert select.locator("option").all_inner_texts() in (["0", "1"], ["0", "1", "(missing)"])
        assert select.input_value() == str(int(row["flag"].iloc[0]))
        for value in (1, 0):
            select.select_option(str(value))
            row["flag"] = float(value)
            agree(report.scores(), scores_of(model, row)[0])
        assert report.messages == []


@pytest.mark.parametrize("is_cut", [False, True])
def test_curves_and_sliders_begin_where_the_training_rows_do(chromium, tmp_path, monkeypatch, is_cut):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"year": rng.uniform(1990.0, 2020.0, 300), "share": rng.random(300)})
    y = X["year"] / 30 + X["share"] > 67.5
    model = AdditiveSVC("chi2", scale="max", random_state=0).fit(X, y)
    if is_cut:
        costs = listing_module._costs
        monkeypatch.setattr(listing_module, "_costs", lambda shapes: 1e9 + costs(shapes))
    kernline.report(model, X, y, tmp_path / "report.html")
    with opened(chromium, tmp_path / "report.html") as report:
        ends = [X["year"].min(), X["year"].max()]
        if not is_cut:
            slider = report.page.locator('input[type="range"][aria-label="year"]')
            assert [float(slider.get_attribute(end)) for end in ("min", "max")] == ends
        report.page.click("#feature-list tbody button >> text=/^year$/")
        report.page.wait_for_function("document.getElementById('feature-name').textContent === 'year'")
        cells = report.page.locator("#feature-table tbody tr").evaluate_all(
            "rows => rows.map((row) => [...row.cells].map((cell) => Number(cell.textContent.replace('−', '-'))))"
        )
        np.testing.assert_allclose([cells[0][0], cells[-1][0]], ends, rtol=1e-3)
        assert report.messages == []


def test_a_constant_is_a_point(chromium, tmp_path):
    X = pd.DataFrame({"share": np.random.default_rng(0).random(300), "same": 3.0})
    kernline.report(AdditiveSVC().fit(X, X["share"] > 0.5), X, X["share"] > 0.5, tmp_path / "report.html")
    with opened(chromium, tmp_path / "report.html") as report:
        lines = report.page.locator("#feature-list tbody tr").evaluate_all(
            "rows => rows.map((row) => row.querySelectorAll('.sparkline path').length)"
        )
        assert lines == [1, 0]
        report.page.click("#feature-list tbody button >> text=/^same$/")
        report.page.wait_for_function("document.getElementById('feature-name').textContent === 'same'")
        cells = report.page.locator("#feature-table tbody td, #feature-table tbody th").all_text_contents()
        assert [float(cell.replace("−", "-")) for cell in cells] == [3.0, 0.0]
        report.see_all()
        assert report.messages == []


@pytest.mark.parametrize("width", [400, 1400])
def test_drawing_a_chart_moves_nothing_below_it(chromium, table_report, width):
    places = "document.querySelectorAll('section, figure, table')"
    where = f"() => [...{places}].map((each) => each.getBoundingClientRect().top)"
    with opened(chromium, table_report[2]) as report:
        report.page.set_viewport_size({"width": width, "height": 800})
        before = report.page.evaluate(where)
        report.see_all()
        np.testing.assert_allclose(report.page.evaluate(where), before, atol=1)


def parts_of(report):
    """What each feature adds to the chosen score, as the page shows it."""
    while report.page.locator("#row-more").is_visible():
        report.page.click("#row-more")
    names = report.page.locator("#row-parts .part-name").all_inner_texts()
    parts = report.page.locator("#row-parts .part").all_inner_texts()
    return {name: float(part.replace("−", "-")) for name, part in zip(names, parts, strict=True)}


def test_parts_are_centred_effects(chromium, table_report, tmp_path):
    X, y, X_test, y_test = digits()
    path = tmp_path / "report.html"
    model = AdditiveSVC(random_state=0).fit(X, y)
    kernline.report(model, X_test, y_test, path)
    for fitted, rows, page in (table_report, (model, X_test, path)):
        effects = fitted.shapes_.centred().explain(rows)
        with opened(chromium, page) as report:
            row = chosen_row(report.page)
            problem = int(np.argmax(report.scores()))
            for name, part in parts_of(report).items():
                expected = effects.row(row, problem)[fitted.shapes_.function_names.index(name)]
                assert part == pytest.approx(expected, abs=1e-4), name
            rest = re.findall(r"[+−]?\d+\.\d+", report.page.inner_text("#row-others"))
            assert float(rest[-1].replace("−", "-")) == pytest.approx(effects.intercepts[problem], abs=1e-4)


BLUE = {"light": "rgb(0, 114, 178)", "dark": "rgb(86, 180, 233)"}
ORANGE = {"light": "rgb(179, 71, 0)", "dark": "rgb(240, 136, 62)"}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_blue_speaks_for_a_class_and_orange_against_it(chromium, table_report, scheme):
    with opened(chromium, table_report[2]) as report:
        report.page.emulate_media(color_scheme=scheme)
        parts = parts_of(report)
        bars = report.page.locator("#row-parts .signed-bar").evaluate_all(
            "bars => bars.map((bar) => getComputedStyle(bar).backgroundColor)"
        )
        expected = {name: (BLUE if part >= 0.0 else ORANGE)[scheme] for name, part in parts.items()}
        assert dict(zip(parts, bars, strict=True)) == expected
        assert set(bars) == {BLUE[scheme], ORANGE[scheme]}
        report.page.fill("#feature-search", "colour")
        report.page.click("#feature-list tbody button >> text=/^colour$/")
        report.see_all()
        columns = report.page.evaluate(
            """() => Bokeh.documents.flatMap((one) => [...one.all_models])
            .filter((one) => one.type === "ColumnDataSource").map((one) => one.data)
            .find((data) => data.label && data.effect)"""
        )
        for effect, fill in zip(columns["effect"], columns["fill"], strict=True):
            assert fill.replace(",", ", ") == (BLUE if effect >= 0.0 else ORANGE)[scheme]


def test_parts_of_sparse_rows_are_those_of_values_that_are_not_zero(chromium, tmp_path):
    model, X, y = sparse_model()
    path = tmp_path / "report.html"
    kernline.report(model, X, y, path)
    effects = model.shapes_.explain(X)
    with opened(chromium, path) as report:
        row = chosen_row(report.page)
        found = parts_of(report)
        assert sorted(map(int, found)) == sorted(X[[row]].indices)
        expected = effects.row(row, int(np.argmax(report.scores())))
        np.testing.assert_allclose(list(found.values()), expected[list(map(int, found))], atol=1e-4)


def test_a_page_that_is_cut_to_size_still_gives_the_decision(chromium, tmp_path):
    X, y = words(n_features=3000, n_classes=30)
    model = AdditiveSVC(random_state=0, tol=0.1).fit(X, y)
    path = tmp_path / "report.html"
    kernline.report(model, X, y, path)
    with opened(chromium, path) as report:
        row = X[[chosen_row(report.page)]].toarray()
        agree(report.scores(), scores_of(model, row)[0])
        report.page.wait_for_selector("#row-parts input")
        name = report.page.locator('#row-parts input[type="range"]').first.get_attribute("aria-label")
        row[0, int(name)] = moved(report, f'#row-parts input[type="range"][aria-label="{name}"]', 1.7)
        agree(report.scores(), scores_of(model, row)[0])
        report.page.click('#feature-list th button[data-key="importance"]')  # the least important first
        report.page.locator("#feature-list tbody button").first.click()
        assert "rounded points" in report.page.inner_text("#feature-facts")
        report.see_all()
        assert report.page.locator("#feature-chart canvas").count() >= 1
        assert report.messages == []


def test_search_and_sort(chromium, table_report):
    model, _, path = table_report
    with opened(chromium, path) as report:
        page = report.page
        names = page.locator("#feature-list tbody th").all_inner_texts()
        expected = [model.shapes_.name_of(k) for k in model.shapes_.top(model.shapes_.n_functions)]
        assert names == expected
        page.fill("#feature-search", "INCO")
        found = page.locator("#feature-list tbody th").all_inner_texts()
        assert found
        assert all("income" in name for name in found)
        page.click("#feature-list tbody button >> text=/^income$/")
        assert page.inner_text("#feature-name") == "income"
        page.fill("#feature-search", "no such name")
        assert "No feature" in page.inner_text("#feature-count")
        page.fill("#feature-search", "")
        page.click('#feature-list th button[data-key="name"]')
        assert page.locator('th[aria-sort="ascending"]').inner_text().startswith("Feature")
        found = page.locator("#feature-list tbody th").all_inner_texts()
        assert found == sorted(found)
        assert report.messages == []


def test_curves_in_the_table_are_those_of_the_model(chromium, table_report):
    model, _, path = table_report
    with opened(chromium, path) as report:
        for name in ("age", "colour"):
            report.page.fill("#feature-search", name)
            report.page.click(f"#feature-list tbody button >> text=/^{name}$/")
            cells = report.page.locator("#feature-table tbody tr").evaluate_all(
                "rows => rows.map((row) => [...row.cells].map((cell) => cell.textContent.replace('−', '-')))"
            )
            values = [row[0] if name == "colour" else float(row[0]) for row in cells]
            values = [None if value == "missing" else value for value in values]
            found = [float(row[-1]) for row in cells]
            expected = model.shapes_.centred().evaluate(name, values)[:, 0]
            np.testing.assert_allclose(found, expected, rtol=1e-3, atol=2e-2)


def axis_labels(report):
    script = "Bokeh.documents.flatMap((one) => [...one.all_models]).map((one) => one.axis_label).filter(Boolean)"
    return report.page.evaluate(script)


def test_effects_say_for_which_class_they_speak(chromium, table_report, tmp_path):
    with opened(chromium, table_report[2]) as report:
        assert re.search(r"^Decision: (yes|no), score of yes -?\d", report.page.inner_text("#row-decision"))
        assert "adds to the score, towards yes" in report.page.inner_text("#what-if h3")
        for section in ("#features", "#what-if"):
            assert "(blue) speak for yes, negative ones (orange) for no." in report.page.inner_text(section)
        for button in range(report.page.locator("#feature-list tbody button").count()):
            report.page.locator("#feature-list tbody button").nth(button).click()
            assert "Effect on the score, towards “yes”." in report.page.inner_text("#feature-facts")
        report.page.click("#feature-list tbody button >> text=/^age$/")
        report.see_all()
        assert "Effect on the score, towards “yes”" in axis_labels(report)
    X, y, X_test, y_test = digits()
    model = AdditiveSVR(random_state=0).fit(X, np.column_stack([y, X[:, 20]]))
    kernline.report(model, X_test, np.column_stack([y_test, X_test[:, 20]]), tmp_path / "report.html")
    with opened(chromium, tmp_path / "report.html") as report:
        report.see_all()
        assert "Effect on the predictions" in axis_labels(report)
        report.page.select_option("#feature-class", "1")
        report.see_all()
        assert "Effect on prediction 1" in axis_labels(report)
        assert "adds to the prediction of the chosen output" in report.page.inner_text("#what-if h3")
        for section in ("#features", "#what-if", "#wrong"):
            assert not re.search(r"\b(scores?|class|classes|decision)\b", report.page.inner_text(section))
        assert report.messages == []


@pytest.mark.parametrize("width", [400, 1400])
def test_a_large_confusion_matrix_has_the_names_of_classes(chromium, tmp_path, width):
    X, numbers = words(n_features=60, n_classes=50, n=1000)
    names = np.array([f"Stadt Nr. {k:02} $$x$$" for k in range(50)])
    model = AdditiveSVC(random_state=0, tol=0.1).fit(X, names[numbers])
    path = tmp_path / "report.html"
    kernline.report(model, X, names[numbers], path)
    with opened(chromium, path) as report:
        report.page.set_viewport_size({"width": width, "height": 900})
        report.page.reload()
        report.page.locator("#confusion-chart").scroll_into_view_if_needed()
        report.see_all()
        axes = report.page.evaluate(
            """() => Bokeh.documents.flatMap((one) => [...one.all_models])
            .filter((one) => one.axis_label && one.axis_label.endsWith(" class"))
            .map((one) => [one.axis_label, [...one.major_label_overrides.values()]])"""
        )
        shown = dict(axes)
        assert set(shown) == {"True class", "Predicted class"}
        assert [name[:12] for name in shown["True class"]] == [name[:12] for name in names]
        every = {1400: 1, 400: 4}[width]
        assert [name[:12] for name in shown["Predicted class"]] == [name[:12] for name in names[::every]]
        assert report.messages == []
        report.page.locator("#confusion-chart").screenshot(path=tmp_path / f"confusion{width}.png")


def test_the_keyboard_reaches_everything(chromium, table_report):
    _, _, path = table_report
    with opened(chromium, path) as report:
        page = report.page
        wanted = page.evaluate(
            """() => [...document.querySelectorAll('a[href], button, input, select, summary, [tabindex="0"]')]
            .filter((one) => !one.disabled && one.checkVisibility())
            .map((one, i) => (one.dataset.wanted = String(i)))"""
        )
        reached = set()
        for _ in range(len(wanted) + 5):
            page.keyboard.press("Tab")
            reached.add(page.evaluate("document.activeElement.dataset.wanted ?? null"))
        assert set(wanted) <= reached
        before = report.scores()
        page.locator('#row-parts input[type="range"]').first.focus()
        page.keyboard.press("Home")
        page.keyboard.press("ArrowRight")
        assert report.scores() != before
        page.locator("#feature-list tbody button").nth(1).focus()
        page.keyboard.press("Enter")
        assert page.inner_text("#feature-name") == page.locator("#feature-list tbody button").nth(1).inner_text()


@pytest.fixture(scope="session")
def axe(tmp_path_factory):
    """axe-core's script, from npm; skipped without it."""
    if shutil.which("npm") is None:
        pytest.skip("axe-core: npm is not installed")
    folder = tmp_path_factory.mktemp("axe")
    command = ["npm", "pack", "axe-core@4", "--silent", "--fetch-retries=0", "--fetch-timeout=10000"]
    try:
        subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=60)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        pytest.skip("axe-core: npm could not download it")
    with tarfile.open(next(folder.glob("axe-core-*.tgz"))) as archive:
        return archive.extractfile("package/axe.min.js").read().decode()


def test_axe_finds_no_serious_violation(chromium, axe, table_report, tmp_path):
    model, X, y = regression()
    kernline.report(model, X, y, tmp_path / "regression.html")
    for path in (table_report[2], tmp_path / "regression.html"):
        with opened(chromium, path) as report:
            report.see_all()
            for scheme in ("light", "dark"):
                report.page.emulate_media(color_scheme=scheme)
                report.page.evaluate(axe)  # evaluated by the debugger, which the page's policy does not bind
                found = report.page.evaluate("axe.run().then((results) => results.violations)")
                serious = [
                    (one["id"], [node["html"] for node in one["nodes"]][:3])
                    for one in found
                    if one["impact"] in ("serious", "critical")
                ]
                assert serious == []


def test_a_wide_table_does_not_widen_the_page(chromium, tmp_path):
    X, y, X_test, y_test = digits()
    model = AdditiveSVR(random_state=0).fit(X, np.column_stack([y, 1e30 * X[:, 20]]))
    kernline.report(model, X_test, np.column_stack([y_test, 1e30 * X_test[:, 20]]), tmp_path / "report.html")
    with opened(chromium, tmp_path / "report.html") as report:
        report.page.set_viewport_size({"width": 400, "height": 900})
        report.see_all()
        assert report.page.evaluate("document.documentElement.scrollWidth") <= 400


@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_is_wider_than_its_window(chromium, table_report, tmp_path, width, scheme):
    with opened(chromium, table_report[2]) as report:
        page = report.page
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        report.see_all()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        picture = tmp_path / f"{width}-{scheme}.png"
        page.screenshot(path=picture, full_page=True)
        assert picture.stat().st_size > 10_000
        paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (paper == "rgb(255, 255, 255)") == (scheme == "light")
        assert report.messages == []


def test_printing_draws_every_chart(chromium, table_report):
    with opened(chromium, table_report[2]) as report:
        report.see_all()
        report.page.emulate_media(media="print")
        empty = "[...document.querySelectorAll('.chart')].filter((one) => !one.children.length).map((one) => one.id)"
        assert report.page.evaluate(empty) == []
        assert not report.page.locator("nav").is_visible()


def test_hostile_names_do_nothing(chromium, tmp_path):
    names = [name for name in HOSTILE if name.isascii() or "\ud83d" not in name]  # pandas refuses half characters
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.random((120, len(names))), columns=names)
    X[names[0]] = rng.choice(HOSTILE[:6], len(X))
    y = np.array(HOSTILE[:4], dtype=object)[rng.integers(4, size=len(X))]
    model = AdditiveSVC(scale="rank", interactions=[(1, 2)], loss="log", random_state=0).fit(X, y)
    path = tmp_path / "report.html"
    kernline.report(model, X, y, path, title=HOSTILE[0], source=HOSTILE[1])
    with opened(chromium, path) as report:
        report.see_all()
        page = report.page
        for button in range(page.locator("#feature-list tbody button").count()):
            page.locator("#feature-list tbody button").nth(button).click()
            report.see_all()
        page.hover("#importance-chart")
        page.hover("#feature-chart")
        page.fill("#feature-search", HOSTILE[0][:12])
        assert page.inner_text("#feature-list tbody th >> nth=0") == HOSTILE[0]
        assert page.title() == HOSTILE[0]
        assert page.locator("img").count() == 0
        assert report.messages == []
        assert report.outside() == []
