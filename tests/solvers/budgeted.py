"""What tests of BudgetedSGD share: a kernel, a fit without extras, and its decision function."""

import numpy as np
from scipy.spatial.distance import cdist

from kernline.solvers import BudgetedSGD
from kernline.solvers.budgeted_sgd import values_of

GAMMA, C = 0.7, 3.0


def kernel(X, Y):
    return np.exp(-GAMMA * cdist(np.atleast_2d(X), np.atleast_2d(Y), "sqeuclidean"))


def fit(X, y, weights=1.0, **options):
    options = {"intercept": False, "average": False, "tol": 0.0, "shuffle": False, "passes": 1} | options
    return BudgetedSGD(gamma=GAMMA, C=C, **options).fit(values_of(X, GAMMA), y * weights)


def decision(model, X):
    return kernel(X, model.vectors) @ model.coefficients + model.intercept
