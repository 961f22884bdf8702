"""Forged model files, with the right digests: loading raises an error, or the model works."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kernline
from kernline.model_files.files import FORMAT

from .forging import at, edit, forged, put, setting

ENCODER = "shapes_.encoder"
FORGERIES = [
    ("hats", edit("shapes_.weights", setting((0, 0, 0), np.nan)), "not finite"),
    ("hats", edit("shapes_.weights", lambda W: W[:-1]), "weights"),
    ("hats", edit("shapes_.weights", lambda W: W[:, :-1]), "width"),
    ("hats", edit("shapes_.weights", lambda W: W[:, :, :-1]), "weights"),
    ("hats", edit("shapes_.weights", lambda W: W.astype(np.float64)), "float64"),
    ("hats", edit("shapes_.weights", lambda W: W[0]), "unpack"),
    ("hats", edit("shapes_.weights", lambda W: W[:0]), "without weights"),
    ("hats", edit("intercept_", lambda b: b[:-1]), "intercept_"),
    ("hats", edit(f"{ENCODER}.offsets", lambda a: a[:-1]), "offsets"),
    ("hats", edit(f"{ENCODER}.factors", setting(0, np.inf)), "factors"),
    ("hats", edit(f"{ENCODER}.grid.thresholds", lambda a: a[::-1]), "thresholds"),
    ("hats", edit(f"{ENCODER}.grid.thresholds", lambda a: np.append(a, 1.0)), "thresholds"),
    ("hats", edit(f"{ENCODER}.grid.thresholds", setting(0, np.nan)), "thresholds"),
    ("hats", put("shapes_", "table", "steps", 15), "steps"),
    ("hats", put("shapes_", "table", "steps", 1 << 40), "steps"),
    ("hats", put("shapes_", "table", "width", 17), "width"),
    ("hats", put("shapes_", "table", "width", "16"), "width"),
    ("hats", put("shapes_", "table", {"kind": "object", "of": "ValueTable", "fields": {"width": 16}}), "PairTable"),
    ("hats", put("shapes_", "encoder", None), "encoder"),
    ("hats", put("n_features_in_", 65), "weights"),
    ("hats", put("n_features_in_", "64"), "n_features_in_"),
    ("hats", put("classes_", [0, 1]), "classes_"),
    ("hats", put("shapes_", 5), "shapes_"),
    ("hats", put("history_", {"kind": "os.system"}), "kind"),
    ("hats", put("history_", {"kind": "object", "of": "Popen", "fields": {}}), "Popen"),
    ("hats", put("history_", {"kind": "tensor", "name": "nowhere"}), "nowhere"),
    ("hats", put("history_", {"kind": "texts", "items": ["x" * 100_000] + [""] * 10_000}), "memory"),
    ("hats", put("dual_gap_", {"kind": "texts", "items": ["0.1"]}), "dual_gap_ must be numbers"),
    ("rbf", put("n_iter_", {"kind": "tuple", "items": ["7"]}), "n_iter_ must be numbers"),
    ("hats", lambda tree, _: tree["model"].update(of="Popen"), "Popen"),
    ("hats", lambda tree, _: tree["model"]["params"].update(C=-1.0), "'C' parameter"),
    ("hats", lambda tree, _: tree["model"]["params"].update(colour="red"), "colour"),
    ("hats", lambda tree, _: tree.update(model=None), "not a JSON object"),
    ("svr", edit("intercept_", lambda b: b[:0]), "output"),
    ("svr", edit("intercept_", lambda b: np.append(b, 0.0)), "target_unit_"),
    ("svr", edit("target_unit_", lambda u: -u), "positive"),
    ("svr", edit("target_unit_", setting(0, np.inf)), "not finite"),
    ("svr", put("target_unit_", 1.0), "target_unit_"),
    ("svr", lambda tree, _: tree["model"].update(of="AdditiveSVC"), "class_weight|epsilon"),
    ("plame", edit("shapes_.table.rows", lambda rows: rows[:-1]), "the table"),
    ("plame", edit("shapes_.table.rows", setting((3, 3), np.nan)), "the table"),
    ("rank", edit(f"{ENCODER}.edge_start", setting(1, 1 << 40)), "edge_start"),
    ("rank", edit(f"{ENCODER}.edge_start", setting(1, -5)), "edge_start"),
    ("rank", edit(f"{ENCODER}.edge_start", lambda a: a[:-1]), "edge_start"),
    ("rank", edit(f"{ENCODER}.levels", lambda a: a[:-1]), "levels"),
    ("pmsvm", put("shapes_", "encoder", "payload", "nodes", [0.1]), "nodes"),
    ("pmsvm", put("shapes_", "encoder", "payload", None), "does not fit"),
    ("linear", put("shapes_", "table", "width", 2), "width"),
    ("rbf", edit("dual_coef_", lambda a: a[:, :-1]), "dual_coef_"),
    ("rbf", edit("_points.X", setting((0, 0), np.nan)), "landmarks"),
    ("rbf", edit("_points.center", lambda a: a[:-1]), "center"),
    ("rbf", put("_points", "unit", 0.0), "unit"),
    ("rbf", put("_kernel", "kind", "factor"), "function"),
    ("rbf", put("_kernel", "gamma", "1"), "kernel"),
    ("chi2 landmarks", edit("_points.X.indices", setting(0, 1 << 20)), "ValueError"),
    ("chi2 landmarks", edit("_points.X.indices", setting(0, -1)), "ValueError"),
    ("chi2 landmarks", edit("_points.X.indptr", setting(1, 1 << 20)), "ValueError"),
    ("chi2 landmarks", put("_points", "X", "shape", [1 << 50, 64]), "ValueError"),
]


@pytest.mark.parametrize(("name", "change", "message"), FORGERIES, ids=range(len(FORGERIES)))
def test_forged_files_are_refused(name, change, message, files, tmp_path):
    path = tmp_path / "model.kern"
    path.write_bytes(files[name])
    with pytest.raises(ValueError, match=message) as caught:
        kernline.load(forged(path, change))
    assert str(caught.value).startswith(str(path))


NONSENSE = st.one_of(
    st.none(),
    st.integers(-3, 1 << 62),
    st.floats(),
    st.text(max_size=5),
    st.sampled_from([[], {}, {"kind": "tensor", "name": "intercept_"}]),
)


@pytest.mark.parametrize("name", ["hats", "rank", "pmsvm", "rbf", "chi2 landmarks", "svr"])
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_nonsense_in_a_tree_is_an_error_or_harmless(name, data, files, tmp_path):
    """Replace a random node by a random value: loading fails, or the model predicts."""
    path = tmp_path / "model.kern"
    path.write_bytes(files[name])

    def change(tree, arrays):
        node = tree["model"]
        for _ in range(data.draw(st.integers(1, 5))):
            inner = [key for key, item in node.items() if isinstance(item, dict)]
            if not inner:
                break
            node = node[data.draw(st.sampled_from(sorted(inner)))]
        keys = sorted(node)
        node[data.draw(st.sampled_from(keys))] = data.draw(NONSENSE)

    try:
        model = kernline.load(forged(path, change))
        X = np.full((3, 64), 2.0)
        getattr(model, "decision_function", model.predict)(X)
    except (ValueError, TypeError, AttributeError, KeyError):
        pass


def test_versions(files, tmp_path):
    path = tmp_path / "model.kern"

    def of_version(text, more=None):
        path.write_bytes(files["hats"])

        def change(tree, arrays):
            tree["format"] = text
            tree["model"]["params"].update(more or {})
            at(tree, "shapes_", "encoder")["fields"].update(more or {})

        return kernline.load(forged(path, change))

    major, minor = FORMAT
    X = np.ones((2, 64))
    newer = of_version(f"{major}.{minor + 1}", {"colour": "red"})
    np.testing.assert_array_equal(newer.decision_function(X), of_version(f"{major}.{minor}").decision_function(X))
    with pytest.raises(
        ValueError, match=rf"format 4\.0.*reads 1\.x, 2\.x and 3\.x.*Update kernline to {kernline.__version__} or"
    ):
        of_version("4.0")
    with pytest.raises(ValueError, match="in between"):
        of_version("0.9")
    with pytest.raises(ValueError, match="format 'new'"):
        of_version("new")
