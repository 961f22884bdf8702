"""Estimators with every kind of content that a model file can have."""

import numpy as np
from sklearn.base import clone

from kernline import AdditiveSVC, AdditiveSVCCV, AdditiveSVR, AdditiveSVRCV, NystromMap, NystromSVC, kernels, tables
from kernline.feature_maps import AdditiveKernelMap

MODELS = {
    "hats": AdditiveSVC(),
    "linear": AdditiveSVC("linear"),
    "plame": AdditiveSVC("js", "plame"),
    "pmsvm": AdditiveSVC("chi2", "pmsvm"),
    "pmsvm-lut": AdditiveSVC("power_mean", "pmsvm-lut", p=-np.inf),
    "feature-map": AdditiveSVC("hellinger", "feature-map"),
    "chebyshev": AdditiveSVC("chi2", "chebyshev", class_weight="balanced"),
    "low-dim": AdditiveSVC("intersection", "low-dim"),
    "hik": AdditiveSVC("intersection", "hik", gamma=0.5),
    "rank": AdditiveSVC("intersection", scale="rank"),
    "minmax": AdditiveSVC("chi2", scale="minmax"),
    "objects": AdditiveSVC(kernels.PowerMean(-4.0), tables.Hats(8, spacing="quantile"), random_state=3),
    "nodes": AdditiveSVC("chi2", tables.PmSVM(nodes=(0.1, 0.5), intercept=True)),
    "cv": AdditiveSVCCV(["chi2", kernels.Intersection()], Cs=[0.1, 1.0], cv=2, n_jobs=1),
    "rbf": NystromSVC(n_basis=20),
    "own landmarks": NystromSVC("poly", 0.1, basis=np.eye(64), degree=2.0),
    "chi2 landmarks": NystromSVC("chi2", n_basis=20, basis="random"),
    "theirs": NystromSVC("cosine", n_basis=20, basis="random"),
}
REGRESSORS = {
    "svr": AdditiveSVR(),
    "svr rank": AdditiveSVR("intersection", scale="rank", loss="epsilon_insensitive", epsilon=0.2),
    "svr pmsvm": AdditiveSVR("chi2", "pmsvm", loss="squared_epsilon_insensitive"),
    "svr cv": AdditiveSVRCV(["chi2", kernels.Intersection()], Cs=[0.1, 1.0], cv=2, n_jobs=1),
}
MAPS = {
    "nystrom": NystromMap("sigmoid", 0.001, n_basis=20),
    "additive": AdditiveKernelMap("js"),
    "hats": AdditiveKernelMap("chi2", "hats", n_components=5),
}


def seeded(model):
    return clone(model).set_params(random_state=0) if "random_state" in model.get_params() else clone(model)
