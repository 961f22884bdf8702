"""A table of numbers, text and gaps: who earns more than 50,000 dollars a year? ``python -m examples.table``

The table is adult, of the census of 1994: the file adult.tsv.gz of PMLB in the folder KERNLINE_DATA, or from OpenML.
Where neither can be had, the example uses generated customers of a shop instead, and says so.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.datasets import fetch_openml
from sklearn.model_selection import train_test_split

from examples.common import data_file, is_offline, options, save
from kernline import AdditiveSVC
from kernline.datasets import make_customers
from kernline.display import ContributionDisplay, ImportanceDisplay, ShapeDisplay

# The texts of the columns, which PMLB has replaced by their numbers in alphabetical order.
LEVELS = {
    "workclass": "? federal local never-worked private self-employed-inc self-employed state without-pay",
    "education": "10th 11th 12th 1st-4th 5th-6th 7th-8th 9th assoc-acdm assoc-voc bachelors doctorate hs-grad masters "
    "preschool prof-school some-college",
    "marital-status": "divorced married-af married absent never-married separated widowed",
    "occupation": "? clerical armed-forces craft-repair executive farming-fishing handlers-cleaners machine-operator "
    "other-service house-service professional protective sales tech-support transport",
    "relationship": "husband not-in-family other-relative own-child unmarried wife",
    "race": "amer-indian asian black other white",
    "sex": "female male",
}
# A weight of the census, the years of education once more, and a column of mostly one level.
LEFT_OUT = ["fnlwgt", "education-num", "native-country"]


def main() -> None:
    """Fit the table as it is, and draw the curves."""
    asked = options(__doc__ or "")
    X, y = table(4000 if asked.quick else None)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0)
    model = AdditiveSVC(interactions=3).fit(X_train, y_train)
    print(f"{len(X):,} rows, columns {', '.join(X.columns)}")
    print(f"accuracy {100 * model.score(X_test, y_test):.1f} %\n")
    save(ShapeDisplay.from_estimator(model), asked.out / "table-curves.png")
    save(ImportanceDisplay.from_estimator(model), asked.out / "table-importance.png")
    save(ContributionDisplay.from_estimator(model, X_test), asked.out / "table-row.png")


def table(n_rows: int | None) -> tuple[pd.DataFrame, np.ndarray]:
    """Adult, or the first rows of it, or the shop's customers."""
    file = data_file("adult.tsv.gz")
    if file is not None:
        X = pd.read_csv(file, sep="\t")
        y = np.where(X.pop("target") == 0, "> 50K", "<= 50K")
        for name, texts in LEVELS.items():
            X[name] = pd.Series(np.array(texts.split(), dtype=object)[X[name]]).replace("?", None)
        return X.drop(columns=LEFT_OUT)[:n_rows], y[:n_rows]
    try:
        if is_offline():
            raise OSError("KERNLINE_OFFLINE forbids downloads")
        X, y = fetch_openml("adult", version=2, as_frame=True, return_X_y=True)
        return X.drop(columns=LEFT_OUT)[:n_rows], np.asarray(y, dtype=object)[:n_rows]
    except OSError as error:
        print(f"adult cannot be fetched from OpenML ({error}): using generated customers of a shop instead")
        return make_customers(n_rows or 20_000)


if __name__ == "__main__":
    main()
