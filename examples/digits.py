"""Digits as pictures: what does the model look for in each? ``python -m examples.digits``

The digits are MNIST's if its files are in the folder KERNLINE_DATA or in kernline's cache (``kernline datasets fetch
mnist``), otherwise the smaller ones of scikit-learn.
"""

from __future__ import annotations

import numpy as np

from examples.common import options, save
from kernline import AdditiveSVC, datasets
from kernline.display import ImageDisplay, ShapeDisplay


def main() -> None:
    """Fit the pixels, and draw each class as a picture."""
    asked = options(__doc__ or "")
    has_mnist = all(datasets.local(file) for file in datasets.CATALOGUE["mnist"].files)
    name = "mnist" if has_mnist and not asked.quick else "digits"
    if name == "digits":
        print("using scikit-learn's digits of 8 × 8 pixels (without --quick, MNIST if its files are on this machine)")
    data = datasets.load(name)
    model = AdditiveSVC("chi2", C=1 if name == "mnist" else 10).fit(data.X_train, data.y_train)
    print(f"{data.X_train.shape[0]:,} digits, {data.X_train.shape[1]} pixels")
    print(f"accuracy {100 * model.score(data.X_test, data.y_test):.1f} %\n")
    save(ImageDisplay.from_estimator(model), asked.out / "digits-classes.png")
    save(ShapeDisplay.from_estimator(model, top=4, columns=2), asked.out / "digits-curves.png")
    wrong = np.flatnonzero(model.predict(data.X_test) != data.y_test)[:1]
    label, guess = data.y_test[wrong][0], model.predict(data.X_test[wrong])[0]
    print(f"label {label}, predicted {guess}: what spoke for either")
    save(
        ImageDisplay.from_estimator(model, X=data.X_test[wrong], classes=[label, guess]), asked.out / "digits-wrong.png"
    )


if __name__ == "__main__":
    main()
