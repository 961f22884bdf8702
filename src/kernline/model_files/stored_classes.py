"""The classes of estimators that a model file may contain: ours, and steps of scikit-learn before them."""

from __future__ import annotations

from functools import cache

from sklearn.base import BaseEstimator

from ..estimators.additive import AdditiveSVC
from ..estimators.additive_cv import AdditiveSVCCV
from ..estimators.additive_svr import AdditiveSVR
from ..estimators.additive_svr_cv import AdditiveSVRCV
from ..estimators.budgeted import BudgetedSVC
from ..estimators.nystrom import NystromSVC
from ..feature_maps import AdditiveKernelMap, NystromMap

# Estimators, with their attributes besides parameters and names that end in "_".
ESTIMATORS: dict[type, tuple[str, ...]] = {
    AdditiveSVC: ("_reason",),
    AdditiveSVCCV: ("_reason",),
    AdditiveSVR: ("_reason",),
    AdditiveSVRCV: ("_reason",),
    NystromSVC: ("_kernel", "_points"),
    BudgetedSVC: ("_last",),
    NystromMap: ("_map",),
    AdditiveKernelMap: ("_features", "_encoder"),
}
# Attributes of steps of scikit-learn: what `set_output` sets, and how encoders group infrequent categories.
_OUTPUT = ("_sklearn_output_config",)
_INFREQUENT = ("_infrequent_enabled", "_infrequent_indices", "_default_to_infrequent_mappings")
# Steps that readers of formats 1 and 2 do not know.
STEPS_OF_3 = ("ColumnTransformer", "FunctionTransformer", "OneHotEncoder", "OrdinalEncoder", "SimpleImputer")


@cache
def estimators() -> dict[str, tuple[type[BaseEstimator], tuple[str, ...]]]:
    """Classes of estimators by name: ours, and the steps of scikit-learn that may precede them."""
    from sklearn import compose, impute, pipeline, preprocessing

    theirs: dict[type, tuple[str, ...]] = {
        pipeline.Pipeline: (),
        **dict.fromkeys((preprocessing.StandardScaler, preprocessing.MinMaxScaler), _OUTPUT),
        **dict.fromkeys((preprocessing.MaxAbsScaler, preprocessing.Normalizer), _OUTPUT),
        preprocessing.FunctionTransformer: _OUTPUT,
        preprocessing.OneHotEncoder: (*_OUTPUT, *_INFREQUENT, "_drop_idx_after_grouping", "_n_features_outs"),
        preprocessing.OrdinalEncoder: (*_OUTPUT, *_INFREQUENT, "_missing_indices"),
        impute.SimpleImputer: (*_OUTPUT, "_fit_dtype", "_fill_dtype"),
        compose.ColumnTransformer: (*_OUTPUT, "_columns", "_transformer_to_input_indices", "_remainder"),
    }
    return {cls.__name__: (cls, private) for cls, private in (ESTIMATORS | theirs).items()}


def estimator_named(name: str) -> tuple[type[BaseEstimator], tuple[str, ...]] | None:
    """The class of an estimator and its private attributes; scikit-learn's are imported only if it is none of ours."""
    ours = next((entry for entry in ESTIMATORS.items() if entry[0].__name__ == name), None)
    return ours or estimators().get(name)


def resolved_transformers(value: BaseEstimator, where: str) -> list[tuple[object, ...]]:
    """The steps of a ColumnTransformer; columns that a function chose are those that it chose."""
    if value.n_jobs is not None:
        raise ValueError(f"save: {where} has n_jobs={value.n_jobs!r:.50}. Call set_params(n_jobs=None) first.")
    chosen = value._columns
    return [
        (name, step, columns if not callable(columns) else chosen[k])
        for k, (name, step, columns) in enumerate(value.transformers)
    ]
