"""Classifiers: from the tokens of a text to a label, and how much each token was heard."""

from regard.models.classify.build import build_classifier
from regard.models.classify.network import Classified, Network, Sentence, Summary
from regard.models.classify.removal import removal_shares
from regard.models.classify.saliency import gradient_shares
from regard.models.classify.tf_idf import TfIdfClassifier, fit_tf_idf

__all__ = [
    "Classified",
    "Network",
    "Sentence",
    "Summary",
    "TfIdfClassifier",
    "build_classifier",
    "fit_tf_idf",
    "gradient_shares",
    "removal_shares",
]
