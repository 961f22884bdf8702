"""Word counts: which words speak for a topic? ``python -m examples.words``

The documents are those of SciPy's functions, which every installation of kernline has, and the topics its subpackages.
A document's text is stripped of names such as scipy.stats, which would be too easy.
"""

from __future__ import annotations

import importlib
import inspect
import re

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from examples.common import options, save
from kernline import AdditiveSVC
from kernline.display import ContributionDisplay, ShapeDisplay

TOPICS = ("fft", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal", "sparse", "spatial", "stats")
QUICK_TOPICS = ("integrate", "linalg", "signal", "stats")


def main() -> None:
    """Fit word counts, and print the words of each topic."""
    asked = options(__doc__ or "")
    texts, topics = documents(QUICK_TOPICS if asked.quick else TOPICS)
    train_texts, test_texts, train, test = train_test_split(texts, topics, test_size=0.3, random_state=0)
    counts = CountVectorizer(token_pattern=r"[a-z]{3,}", stop_words="english", min_df=3)
    model = make_pipeline(counts, Normalizer("l1"), AdditiveSVC("chi2", C=10)).fit(train_texts, train)
    print(f"{len(texts):,} documents of SciPy, {len(counts.vocabulary_):,} words, {len(set(topics))} topics")
    print(f"accuracy {100 * model.score(test_texts, test):.1f} %\n\nwords that speak for a topic:")
    for topic, words in words_by_topic(model, train_texts, np.array(train)).items():
        print(f"  {topic:<12} {', '.join(words)}")
    print()
    save(ShapeDisplay.from_estimator(model, top=6), asked.out / "words-curves.png")
    save(ContributionDisplay.from_estimator(model, test_texts[:1]), asked.out / "words-document.png")


def documents(topics: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """The texts of the public functions and classes of some subpackages, and the subpackage of each."""
    texts, labels = [], []
    for topic in topics:
        module = importlib.import_module(f"scipy.{topic}")
        for name in module.__all__:
            text = plain(inspect.getdoc(getattr(module, name)) or "")
            if len(text) >= 200:
                texts.append(text)
                labels.append(topic)
    return texts, labels


def plain(text: str) -> str:
    """A documentation text without examples, references and names of modules."""
    text = re.split(r"\n(?:Examples|References)\n-{3,}", text)[0]
    return re.sub(r"[\w.]*scipy[\w.]*|`[^`]*`", " ", text).lower()


def words_by_topic(model, texts: list[str], topics: np.ndarray, n: int = 8) -> dict[str, list[str]]:
    """The words that add most to the score of a topic in its own documents, on average."""
    names, curves = model[:-1].get_feature_names_out(), model[-1].shapes_
    contributions = curves.explain(model[:-1].transform(texts)).values
    found = {}
    for k, topic in enumerate(model.classes_):
        mean = contributions[k][np.flatnonzero(topics == topic)].mean(axis=0)
        found[str(topic)] = [str(names[j]) for j in np.argsort(-np.asarray(mean).ravel())[:n]]
    return found


if __name__ == "__main__":
    main()
