"""Models whose first steps choose and rearrange columns: the names are those of the columns that the curves read."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from kernline import AdditiveSVC, save

from .test_cli import run


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"important": random.random(200), "noise": random.random(200)})
    frame["colour"] = np.where(random.random(200) < 0.1, None, random.choice(["red", "blue"], 200))
    y = np.where(frame.important > 0.5, "yes", "no")
    frame.assign(label=y).to_csv("t.csv", index=False)
    return pd.read_csv("t.csv").drop(columns="label"), y


def saved(steps, frame, y):
    model = make_pipeline(ColumnTransformer(steps), AdditiveSVC()).fit(frame, y)
    save(model, "m.kern")
    return model


@pytest.mark.parametrize("columns", [[1, 0], ["noise", "important"]])
def test_columns_in_another_order(table, columns):
    frame, y = table
    saved([("n", StandardScaler(), columns)], frame, y)
    ranked = json.loads(run("inspect", "m.kern", "--json").stdout)["importance"]
    assert ranked[0]["feature"] == "n__important"
    rows = json.loads(run("explain", "m.kern", "t.csv", "--target", "label", "--to", "json", "--top", 1).stdout)["rows"]
    i = int(frame.important.argmax())
    part = rows[i]["contributions"][0]
    scaled = (frame.important - frame.important.mean()) / frame.important.std(ddof=0)
    assert part["feature"] == "n__important"
    assert part["value"] == pytest.approx(scaled[i])


def test_columns_by_name_with_text(table):
    frame, y = table
    steps = [("n", StandardScaler(), ["important"]), ("c", OneHotEncoder(handle_unknown="ignore"), ["colour"])]
    model = saved(steps, frame, y)
    found = run("predict", "m.kern", "t.csv", "--target", "label", "-o", "out.csv")
    assert found.exit_code == 0, found.stderr
    assert pd.read_csv("out.csv").iloc[:, 0].tolist() == model.predict(frame).tolist()
    assert run("evaluate", "m.kern", "t.csv", "--target", "label").exit_code == 0
    assert "c__colour_red" in run("explain", "m.kern", "t.csv", "--target", "label").stdout


def test_control_characters_do_not_reach_the_terminal(table):
    frame, _ = table
    renamed = frame[["important", "noise"]].rename(columns={"important": "a\x1b[2Jb"})
    save(AdditiveSVC().fit(renamed, np.where(frame.important > 0.5, "c\x1b]0;x\x07", "d")), "m.kern")
    shown = run("inspect", "m.kern").stdout
    assert "a?[2Jb" in shown
    assert "\x1b" not in shown
    assert "\x07" not in shown
