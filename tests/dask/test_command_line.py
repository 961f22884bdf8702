"""``kernline train --dask``."""

import pytest
from sklearn.datasets import dump_svmlight_file
from typer.testing import CliRunner

import kernline
from kernline.cli.app import app

from .clusters import digits, local_client


def test_train_on_a_cluster(tmp_path):
    X, y = digits(300, 2)
    for k in range(3):
        rows = slice(100 * k, 100 * k + 100)
        dump_svmlight_file(X[rows], y[rows], str(tmp_path / f"part-{k}.svm"), zero_based=False)
    model = tmp_path / "m.kern"
    with local_client(1) as client:
        arguments = ["train", str(tmp_path / "part-*.svm"), str(model), "--kernel", "chi2"]
        ended = CliRunner().invoke(app, [*arguments, "--dask", client.scheduler.address])
    assert ended.exit_code == 0, ended.output
    loaded = kernline.load(model)
    assert type(loaded).__name__ == "AdditiveSVC"
    assert loaded.score(X, y) > 0.9
    assert loaded.zero_based_ is False


@pytest.mark.parametrize(
    "extra",
    [["-v", "5"], ["m.kern", "-C"], ["--out-of-core"], ["--interactions", "3"], ["--kernel", "rbf"], ["--one-based"]],
)
def test_what_does_not_go_with_a_cluster(tmp_path, monkeypatch, extra):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.svm").write_text("1 1:1\n0 2:1\n")
    ended = CliRunner().invoke(app, ["train", str(tmp_path / "a.svm"), "--dask", "tcp://127.0.0.1:9", *extra])
    assert ended.exit_code == 2
    assert "--dask" in ended.output
