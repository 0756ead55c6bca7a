"""Classifiers: padding changes nothing, weights sum to one, TF-IDF is scikit-learn's, gradients are shares."""

import builtins

import numpy as np
import pytest
import torch
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from torch import nn

from regard.config.classify import SavedClassifier, TransformerEncoderSpec
from regard.errors import ArgumentError, MissingExtraError
from regard.inspection.readings.word_shares import gradient_shares
from regard.layers.mechanisms.structured import StructuredSelfAttention
from regard.models.classification import Network, TfIdfClassifier, build_classifier, fit_tf_idf
from regard.tasks.classification.settings import CLASSIFIERS, LabeledSize, compose_classifier

TRAINED = [name for name in CLASSIFIERS if name != "tf-idf"]
TOKENS = torch.tensor([[4, 5, 6, 7, 4], [8, 9, 0, 0, 0], [0, 0, 0, 0, 0]])
LENGTHS = torch.tensor([5, 2, 0])


def make(name):
    if name == "tf-idf":
        model = TfIdfClassifier(12, 3)
        model.idf, model.weight, model.bias = torch.rand(12) + 1, torch.randn(3, 12), torch.randn(3)
        return model
    return build_classifier(CLASSIFIERS[name], vocabulary_size=12, num_labels=3).eval()


@pytest.mark.parametrize("name", CLASSIFIERS)
@torch.no_grad()
def test_padding_changes_nothing(name):
    model = make(name)
    whole = model(TOKENS, LENGTHS)
    wider = torch.cat([TOKENS, torch.full((3, 4), 11)], dim=1)
    wider[1, 2:] = 10  # whatever stands at padding
    padded, alone = model(wider, LENGTHS), model(TOKENS[1:2, :2], LENGTHS[1:2])
    torch.testing.assert_close(padded.logits, whole.logits, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(alone.logits, whole.logits[1:2], rtol=1e-5, atol=1e-6)
    assert whole.logits.isfinite().all()
    if whole.weights is not None:
        torch.testing.assert_close(padded.weights[:, :5], whole.weights, rtol=1e-5, atol=1e-6)


@torch.no_grad()
@pytest.mark.parametrize("name", ["rnn", "lstm", "gru"])
def test_the_last_state_is_that_after_the_last_word(name):
    model = make(name)
    recurrence = model.reader.encoder.recurrence
    states, _ = recurrence(model.embedding(TOKENS[1:2, :2]))
    expected = model.output(states[:, 1])
    torch.testing.assert_close(model(TOKENS, LENGTHS).logits[1:2], expected)


@pytest.mark.parametrize("name", CLASSIFIERS)
@torch.no_grad()
def test_weights_sum_to_one_over_the_words(name):
    weights = make(name)(TOKENS, LENGTHS).weights
    if name in ("feed-forward", "rnn", "lstm", "gru"):
        assert weights is None
        return
    assert (weights >= 0).all()
    torch.testing.assert_close(weights.sum(1), torch.tensor([1.0, 1.0, 0.0]))
    assert weights[1, 2:].sum() == 0


@pytest.mark.parametrize("name", TRAINED)
def test_gradients_give_shares_too(name):
    model = make(name)
    shares = gradient_shares(model, TOKENS, LENGTHS)
    torch.testing.assert_close(shares.sum(1), torch.tensor([1.0, 1.0, 0.0]))
    assert shares[1, 2:].sum() == 0
    assert all(one.grad is None for one in model.parameters())


def test_the_gradient_of_a_mean_is_each_words_part_of_the_logit():
    model = make("average")
    tokens, lengths = TOKENS[:1], LENGTHS[:1]
    logits = model(tokens, lengths).logits[0]
    rows = model.output[1].weight - model.output[1].weight.mean(0)
    parts = (model.embedding(tokens)[0] @ rows[logits.argmax()]).abs()
    torch.testing.assert_close(gradient_shares(model, tokens, lengths)[0], (parts / parts.sum()).detach())


def test_structured_attention_has_the_papers_penalty():
    model = make("structured")
    weights = []
    hook = model.summarize.attention.register_forward_hook(lambda *call: weights.append(call[-1].weights))
    found = model(TOKENS, LENGTHS)
    hook.remove()
    expected = CLASSIFIERS["structured"].penalty * StructuredSelfAttention.penalty(weights[0])
    torch.testing.assert_close(found.penalty[:2], expected[:2])
    assert found.penalty[2] == 0  # nothing to look at
    assert make("lstm-attention")(TOKENS, LENGTHS).penalty is None


@pytest.mark.parametrize("num_labels", [2, 3])
def test_tf_idf_is_scikit_learns(num_labels):
    random = np.random.default_rng(num_labels)
    texts = [random.integers(4, 12, size=random.integers(2, 9)).tolist() for _ in range(60)]
    labels = [(sum(text) + len(text)) % num_labels for text in texts]
    vectorizer = TfidfVectorizer(analyzer=lambda text: [str(token) for token in text])
    theirs = LogisticRegression(C=3.0, max_iter=1000).fit(vectorizer.fit_transform(texts), labels)
    ours = fit_tf_idf(texts, labels, vocabulary_size=14, num_labels=num_labels, inverse_penalty=3.0)
    asked = [*texts[:20], [5, 13, 13]]  # of which 13 was never seen
    tokens, lengths = (
        nn.utils.rnn.pad_sequence([torch.tensor(one) for one in asked], batch_first=True),
        [*map(len, asked)],
    )
    found = ours(tokens, torch.tensor(lengths))
    expected = theirs.predict_proba(vectorizer.transform(asked))
    np.testing.assert_allclose(found.logits.softmax(-1).numpy(), expected, atol=2e-3)
    assert found.weights[-1, 1:].sum() == 0


def test_shares_of_tf_idf_are_parts_of_the_chosen_logit():
    model = make("tf-idf")
    found = model(TOKENS, LENGTHS)
    heard = torch.zeros(12)
    for token in TOKENS[0].tolist():
        heard[token] += model.idf[token]
    heard /= heard.norm()
    torch.testing.assert_close(found.logits[0], model.weight @ heard + model.bias)
    parts = (model.weight[found.logits[0].argmax()] * heard).abs()
    counts = torch.bincount(TOKENS[0], minlength=12)
    each = (parts / counts.clamp_min(1))[TOKENS[0]]
    torch.testing.assert_close(found.weights[0], each / each.sum())


def test_tf_idf_without_scikit_learn_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def refuse(name, *rest):
        if name.startswith("sklearn"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", refuse)
    message = r'The preset "tf-idf" needs the package scikit-learn to be fitted, .* pip install \'regard\[sklearn\]\''
    with pytest.raises(MissingExtraError, match=message):
        fit_tf_idf([[4]], [0], vocabulary_size=5, num_labels=2, inverse_penalty=1.0)


def test_networks_are_small_and_whole():
    for name in TRAINED:
        model = make(name)
        assert isinstance(model, Network)
        assert sum(one.numel() for one in model.parameters()) < 400_000


def test_specs_refuse_what_cannot_be_built():
    with pytest.raises(ArgumentError, match=r"`size` must be even and a multiple of `num_heads`, 4; received 30."):
        TransformerEncoderSpec(size=30)
    with pytest.raises(ArgumentError, match=r'must be the name of a classifier; received "lstn". Did you mean lstm'):
        compose_classifier({}, LabeledSize(texts=9, words=9), name="lstn")
    with pytest.raises(ArgumentError, match=r"`num_labels` must be at least 1; received 0."):
        SavedClassifier(
            version="0", task="classify", model=CLASSIFIERS["average"], vocabulary_size=5, num_labels=0, max_length=5
        )


@pytest.mark.gpu
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_classifier_runs_on_cuda(name, cuda):
    model = make(name)
    expected = model(TOKENS, LENGTHS).logits
    model.to(cuda)
    found = model(TOKENS.to(cuda), LENGTHS).logits
    torch.testing.assert_close(found.cpu(), expected, rtol=1e-3, atol=1e-3)
    if name != "tf-idf":
        shares = gradient_shares(model, TOKENS.to(cuda), LENGTHS)
        torch.testing.assert_close(shares.sum(1).cpu(), torch.tensor([1.0, 1.0, 0.0]))
