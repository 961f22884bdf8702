"""The census table "adult" as its users meet it: named columns, text, and gaps.

The file stores each text column as the rank of the level in alphabetical order, where "?", the mark of a gap, is the
first level of three columns. The names are those of the UCI repository.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from kernline import datasets
from kernline.datasets import RemoteFile

_LEVELS = {
    "workclass": "? Federal-gov Local-gov Never-worked Private Self-emp-inc Self-emp-not-inc State-gov Without-pay",
    "education": "10th 11th 12th 1st-4th 5th-6th 7th-8th 9th Assoc-acdm Assoc-voc Bachelors Doctorate HS-grad Masters "
    "Preschool Prof-school Some-college",
    "marital-status": "Divorced Married-AF-spouse Married-civ-spouse Married-spouse-absent Never-married Separated "
    "Widowed",
    "occupation": "? Adm-clerical Armed-Forces Craft-repair Exec-managerial Farming-fishing Handlers-cleaners "
    "Machine-op-inspct Other-service Priv-house-serv Prof-specialty Protective-serv Sales Tech-support "
    "Transport-moving",
    "relationship": "Husband Not-in-family Other-relative Own-child Unmarried Wife",
    "race": "Amer-Indian-Eskimo Asian-Pac-Islander Black Other White",
    "sex": "Female Male",
    "native-country": "? Cambodia Canada China Columbia Cuba Dominican-Republic Ecuador El-Salvador England France "
    "Germany Greece Guatemala Haiti Holand-Netherlands Honduras Hong Hungary India Iran Ireland Italy Jamaica Japan "
    "Laos Mexico Nicaragua Outlying-US Peru Philippines Poland Portugal Puerto-Rico Scotland South Taiwan Thailand "
    "Trinadad&Tobago United-States Vietnam Yugoslavia",
}
_TARGETS = np.array([">50K", "<=50K"])


def load() -> tuple[pd.DataFrame, np.ndarray]:
    """48,842 people: six numeric columns, eight text columns, three of them with gaps; the income as text."""
    table = pd.read_csv(datasets.path(RemoteFile("adult.tsv.gz", "")), sep="\t")
    y = _TARGETS[table.pop("target").to_numpy()]
    for name, levels in _LEVELS.items():
        names = [None if level == "?" else level for level in levels.split()]
        table[name] = pd.Series(np.array(names, dtype=object)[table[name].to_numpy()], index=table.index, dtype="str")
    return table, y
