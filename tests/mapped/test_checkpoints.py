"""Checkpoints of a fit part by part: real SIGKILLs, the same result, and refusals."""

from __future__ import annotations

import os
import random
import signal
import time

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from typer.testing import CliRunner

from kernline import AdditiveSVC, AdditiveSVR, Dataset, load
from kernline.cli.app import app
from kernline.mapped import checkpoint
from kernline.mapped import file as kdata

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    monkeypatch.setattr(kdata, "CHUNK_BYTES", 2000)
    monkeypatch.setattr(checkpoint, "SECONDS", 0.0)


@pytest.fixture
def data(tmp_path):
    generator = np.random.default_rng(0)
    X = generator.random((1500, 6))
    y = np.digitize(X[:, 0] + X[:, 1] ** 2 + 0.4 * generator.normal(size=1500), [0.6, 1.1])
    Dataset(X, y).save(tmp_path / "x.kdata")
    return opened(tmp_path)


def opened(folder, **attributes):
    dataset = Dataset.load(folder / "x.kdata")
    dataset.part_bytes, dataset.checkpoint = 2000, folder / "state"
    for name, value in attributes.items():
        setattr(dataset, name, value)
    return dataset


def killed(run, *, after_saves=None, after_seconds=None):
    """Run in a child that is killed, after some checkpoints or seconds; whether it was, before its end."""
    child = os.fork()
    if child == 0:
        if after_saves is not None:
            save, left = checkpoint.CheckpointFile.save, [after_saves]

            def save_and_die(self, snapshot):
                save(self, snapshot)
                left[0] -= 1
                if not left[0]:
                    os.kill(os.getpid(), signal.SIGKILL)

            checkpoint.CheckpointFile.save = save_and_die
        try:
            run()
        finally:
            os._exit(0)
    if after_seconds is not None:
        time.sleep(after_seconds)
        os.kill(child, signal.SIGKILL)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


HINGE = AdditiveSVC(loss="hinge", C=100.0, tol=1e-4)
SQUARED = AdditiveSVC(loss="squared_hinge", C=0.1, tol=1e-4, intercept_scaling=1.0)


@pytest.mark.parametrize("model", [HINGE, SQUARED, AdditiveSVR(C=0.1, tol=1e-5)], ids=["hinge", "penalised", "numbers"])
def test_a_killed_fit_continues_to_the_same_result(tmp_path, data, model):
    whole = model.fit(opened(tmp_path, checkpoint=None)).shapes_
    passes = int(model.n_iter_.max())
    assert passes > 3
    for after in (1, passes // 2):
        assert killed(lambda: model.fit(data), after_saves=after)
        assert os.listdir(tmp_path).count("state") == 1
    continued = model.fit(data)
    assert continued.n_iter_.max() == passes
    assert [report.epoch for report in continued.history_[0]] == list(range(1, len(continued.history_[0]) + 1))
    assert_array_equal(continued.shapes_.weights, whole.weights)
    assert_array_equal(continued.intercept_, whole.intercepts)
    assert os.listdir(tmp_path) == ["x.kdata"]


def test_kills_at_random_moments_leave_nothing_behind(tmp_path, data):
    begun = time.perf_counter()
    whole = HINGE.fit(data)
    seconds, chance = time.perf_counter() - begun, random.Random(0)
    moments = [0.0, *(chance.uniform(0.0, seconds) for _ in range(7))]  # at the first, no fit has ended
    assert sum(killed(lambda: HINGE.fit(data), after_seconds=moment) for moment in moments)
    HINGE.fit(data)
    assert os.listdir(tmp_path) == ["x.kdata"]
    assert_array_equal(HINGE.objective_, whole.objective_)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (AdditiveSVC(loss="hinge", C=10.0), "its C is 100.0, and now it is 10.0"),
        (AdditiveSVC(loss="squared_hinge", C=100.0), "its loss is"),
        (AdditiveSVC(loss="hinge", C=100.0, random_state=1), "its random_state is"),
        (AdditiveSVC(loss="hinge", C=100.0, class_weight={0: 2.0}), "its class_weight or sample_weight is"),
        (AdditiveSVC(loss="hinge", C=100.0, fit_intercept=False), "its intercept is"),
    ],
)
def test_another_fit_is_refused(tmp_path, data, other, message):
    assert killed(lambda: HINGE.fit(data), after_saves=1)
    content = (tmp_path / "state").read_bytes()
    with pytest.raises(ValueError, match=f"state: the checkpoint of another fit: {message}"):
        other.fit(data)
    assert (tmp_path / "state").read_bytes() == content


def test_other_rows_are_refused(tmp_path, data):
    assert killed(lambda: HINGE.fit(data), after_saves=1)
    X = np.random.default_rng(1).random((1500, 6))
    Dataset(X, X[:, 0] > 0.5).save(tmp_path / "x.kdata")
    with pytest.raises(ValueError, match="its data is"):
        HINGE.fit(opened(tmp_path))


def test_a_tighter_tolerance_continues(data):
    assert killed(lambda: AdditiveSVC(loss="hinge", C=100.0).fit(data), after_saves=1)
    assert (HINGE.fit(data).dual_gap_ <= 1e-4 * HINGE.objective_).all()


@pytest.mark.parametrize("content", [b"not a checkpoint", b""])
def test_a_file_that_is_something_else_is_not_replaced(tmp_path, data, content):
    (tmp_path / "state").write_bytes(content)
    with pytest.raises(ValueError, match="state: not a checkpoint of kernline, or a damaged one"):
        HINGE.fit(data)
    assert (tmp_path / "state").read_bytes() == content


def test_every_byte_is_checked(tmp_path, data):
    assert killed(lambda: HINGE.fit(data), after_saves=1)
    content = bytearray((tmp_path / "state").read_bytes())
    for place in (20, len(content) // 2, len(content) - 1):
        damaged = content.copy()
        damaged[place] ^= 1
        (tmp_path / "state").write_bytes(damaged)
        with pytest.raises(ValueError, match="state: "):
            HINGE.fit(data)


def test_a_model_is_no_checkpoint(tmp_path, data):
    from kernline import save

    save(HINGE.fit(data), tmp_path / "state")
    with pytest.raises(ValueError, match="not a checkpoint"):
        HINGE.fit(data)


def test_command_line(tmp_path, data, monkeypatch):
    monkeypatch.setattr("kernline.mapped.dataset.PART_BYTES", 2000)
    arguments = ["train", str(tmp_path / "x.kdata"), str(tmp_path / "m.kern"), "-q"]
    arguments += ["--loss", "hinge", "-c", "100", "-e", "1e-4", "--checkpoint", str(tmp_path / "state")]
    assert killed(lambda: CliRunner().invoke(app, arguments), after_saves=2)
    assert sorted(os.listdir(tmp_path)) == ["state", "x.kdata"]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    assert sorted(os.listdir(tmp_path)) == ["m.kern", "x.kdata"]
    assert_array_equal(load(tmp_path / "m.kern").intercept_, HINGE.fit(data).intercept_)
    (tmp_path / "a.svm").write_text("1 1:1\n0 2:1\n")
    refused = CliRunner().invoke(app, ["train", str(tmp_path / "a.svm"), "n.kern", "--checkpoint", "state"])
    assert refused.exit_code == 2
    assert "--checkpoint is for data larger than memory" in refused.output
