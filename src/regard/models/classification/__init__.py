"""Classifiers: from the tokens of a text to a label, and the weight of each token."""

from regard.models.classification.build import build_classifier
from regard.models.classification.network import Classified, Network, Sentence, Summary
from regard.models.classification.tf_idf import TfIdfClassifier, fit_tf_idf

__all__ = [
    "Classified",
    "Network",
    "Sentence",
    "Summary",
    "TfIdfClassifier",
    "build_classifier",
    "fit_tf_idf",
]
