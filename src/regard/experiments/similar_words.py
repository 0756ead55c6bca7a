r"""Likeness as attention: parameter-free self-attention over word vectors made here, by counting.

Words that keep the same company are alike. Each is described by how much more often than by chance others stand beside
it, and that table is brought down to a few numbers by its largest singular values:

$$\text{PPMI}_{wc} = \max\Big(0, \log \frac{p(w, c)}{p(w)\, p(c)}\Big) \approx U_d \Sigma_d V_d^\top, \qquad
x_w = U_{d,w} \Sigma_d^{1/2}$$

all vectors then brought to one length. $Y = \text{softmax}(X X^\top) X$ has nothing to learn: each word attends to
those like it, itself most. The sentences are the English half of the built-in Spanish-English corpus; the groups of
words below are used to judge, never to train.

Reference: Levy and Goldberg (2014), sections 3 and 4.2, Neural word embedding as implicit matrix factorization; Cheng,
Dong and Lapata (2016), arXiv:1601.06733.
"""

import re
from collections import Counter
from statistics import fmean

import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor

from regard.attention import Attended
from regard.data.builtin import corpus
from regard.experiments.experiment import Experiment, Result, Row, Settings
from regard.inspection.drawing.figures import color_bar, draw_heatmap
from regard.inspection.drawing.panels import panels
from regard.layers import SelfAttention

GROUPS = {
    "food": "meat fish soup rice bread cheese cake salad",
    "drinks": "juice coffee tea water milk wine",
    "family": "cousin mother uncle aunt grandmother grandfather father sister brother",
    "names": "ines elena pedro juan diego luis ana maria lucia pablo",
    "places": "hotel beach school office restaurant park hospital library university",
    "reading": "book letter novel story magazine newspaper",
    "feelings": "tired sick hungry sleepy busy happy worried sad thirsty",
}
SIZE, WINDOW, LENGTH = 32, 2, 2.0
SHOWN = ("meat", "soup", "rice", "coffee", "tea", "uncle", "sister", "hotel", "school", "tired", "hungry")


def read_sentences(number: int, *, seed: int) -> list[list[str]]:
    """Give the English side of so many pairs, in small letters, without marks."""
    pairs = corpus("builtin:es-en", split="train", size=number, seed=seed)
    return [re.findall(r"[a-z']+", pair.target.lower()) for pair in pairs]


def word_vectors(sentences: list[list[str]]) -> tuple[dict[str, int], Float[Tensor, "word size"]]:
    """Count neighbors, weigh them by PPMI and reduce them by SVD; give the words' rows and their vectors."""
    counts = Counter(word for sentence in sentences for word in sentence)
    index = {word: row for row, (word, count) in enumerate(counts.most_common()) if count >= 3}
    pairs = Counter(
        (index[word], index[other], position - beside > 0)
        for sentence in sentences
        for position, word in enumerate(sentence)
        for beside in range(max(0, position - WINDOW), min(len(sentence), position + WINDOW + 1))
        if beside != position and word in index and (other := sentence[beside]) in index
    )
    table = torch.zeros(len(index), 2 * len(index), dtype=torch.float64)  # neighbors before, then those behind
    for (row, column, before), count in pairs.items():
        table[row, column + len(index) * (not before)] = count
    share = table / table.sum()
    ratio = share / (share.sum(1, keepdim=True) * share.sum(0, keepdim=True)).clamp_min(1e-30)
    left, values, _ = torch.linalg.svd(ratio.clamp_min(1.0).log(), full_matrices=False)
    vectors = left[:, :SIZE] * values[:SIZE].sqrt()
    return index, LENGTH * torch.nn.functional.normalize(vectors, dim=-1).float()


def attend(vectors: Float[Tensor, "word size"]) -> Float[Tensor, "query key"]:
    """Let words attend to one another by similarity alone; give the weights."""
    attended = SelfAttention()(vectors[None], return_weights=True)
    assert isinstance(attended, Attended)
    return attended.weights[0]


def measure(settings: Settings) -> Result:
    """Make vectors, then measure which words those of each group attend to, among all groups."""
    number = settings.choose(full=10_000, quick=800)
    settings.watch(0.0, f"reading {number:,} sentences")
    sentences = read_sentences(number, seed=settings.seed)
    settings.watch(0.6, "word vectors")
    index, vectors = word_vectors(sentences)
    members = {group: [word for word in words.split() if word in index] for group, words in GROUPS.items()}
    words = [word for group in members.values() for word in group]
    rows = _table(members, words, attend(vectors[[index[word] for word in words]]), vectors, index)
    figure = _draw(index, vectors, sentences)
    title = f"{len(index)} words from {number:,} sentences; {len(words)} of them attend to one another"
    return Result(tables={title: rows}, figure=figure, reading=_read(rows, len(words)))


def _table(
    members: dict[str, list[str]], words: list[str], weights: Tensor, vectors: Tensor, index: dict[str, int]
) -> list[Row]:
    """For each group: the weight on oneself, on another of the group and on another word, and who is nearest."""
    group_of = {word: group for group, group_words in members.items() for word in group_words}
    own = torch.tensor([[group_of[each] == group_of[other] for other in words] for each in words])
    self_weight, same = torch.eye(len(words), dtype=torch.bool), own & ~torch.eye(len(words), dtype=torch.bool)
    rows: list[Row] = []
    for group, group_words in members.items():
        mine = torch.tensor([group_of[word] == group for word in words])[:, None]
        first = group_words[0]
        likeness = vectors @ vectors[index[first]]
        nearest = [list(index)[row] for row in likeness.argsort(descending=True)[1:4].tolist()]
        rows.append(
            {
                "group": group,
                "words": len(group_words),
                "on itself": weights[mine & self_weight].mean().item(),
                "on one of its group": weights[mine & same].mean().item(),
                "on one of another": weights[mine & ~own].mean().item(),
                "nearest": f"{first}: {', '.join(nearest)}",
            }
        )
    return rows


def _draw(index: dict[str, int], vectors: Tensor, sentences: list[list[str]]) -> Figure:
    sentence = next(
        (panel for panel in sentences if len(panel) in (9, 10) and all(word in index for word in panel)), sentences[0]
    )
    shown = [word for word in SHOWN if word in index]
    figure, axes = panels(1, 2, size=(5.0, 4.4), titles=["words of several groups", "a sentence"])
    for panel, words in zip(axes, (shown, [word for word in sentence if word in index]), strict=True):
        weights = attend(vectors[[index[word] for word in words]])
        mesh = draw_heatmap(panel, weights, query_labels=words, key_labels=words, sums=False)
        panel.set(xlabel="", ylabel="")
    color_bar(mesh, axes)
    return figure


def _read(rows: list[Row], num_words: int) -> tuple[str, str, str]:
    itself, same, other = (
        fmean(float(row[name]) for row in rows) for name in ("on itself", "on one of its group", "on one of another")
    )
    first = f"Among {num_words} words each puts {itself:.0%} of its weight on itself on average, "
    first += f"{itself * num_words:.0f} times its share"
    first += ": nothing is as like it." if itself > same else ", and more on others."
    second = f"On another of its group it puts {100 * same:.1f} %, on one of another group {100 * other:.1f} %, "
    second += f"a ratio of {same / other:.1f}: "
    second += (
        "likeness by company finds the groups." if same > 1.5 * other else "likeness does not find the groups here."
    )
    best, worst = (choose(rows, key=_ratio) for choose in (max, min))
    third = f"The ratio is largest for {best['group']} ({_ratio(best):.1f}) and smallest for {worst['group']} "
    third += f"({_ratio(worst):.1f}): " + (
        "every group is recovered." if _ratio(worst) > 1.2 else f"{worst['group']} keep no company of their own."
    )
    return first, second, third


def _ratio(row: Row) -> float:
    return float(row["on one of its group"]) / float(row["on one of another"])


EXPERIMENT = Experiment(
    name="similar-words",
    shows="parameter-free self-attention over word vectors of the built-in corpus: similar words attend to one another",
    idea="self-attention without parameters",
    measure=measure,
)
