"""What scikit-learn keeps private, or has in some versions only. Nothing else here imports such names.

Tried with scikit-learn 1.8 and 1.9.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from sklearn.base import _fit_context as fit_context
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval, Options, StrOptions
from sklearn.utils.validation import _check_feature_names as check_feature_names
from sklearn.utils.validation import _check_feature_names_in as check_feature_names_in
from sklearn.utils.validation import _check_n_features as check_n_features
from sklearn.utils.validation import _check_sample_weight as check_sample_weight

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # before 1.9
    with_callbacks = None

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in where scikit-learn has no callbacks."""


# What a parameter may be, by name.
Constraints: TypeAlias = Mapping[str, Sequence[object]]

__all__ = [
    "CallbackSupportMixin",
    "Constraints",
    "Interval",
    "Options",
    "StrOptions",
    "Tags",
    "check_feature_names",
    "check_feature_names_in",
    "check_n_features",
    "check_sample_weight",
    "fit_context",
    "with_callbacks",
]
