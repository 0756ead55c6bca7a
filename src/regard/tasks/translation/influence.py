"""Which source words the words of an output come from: by attention, and by leaving out each source word."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from regard.data.batches.bucketing import make_index_batches
from regard.data.batches.pairs import Examples
from regard.data.batches.ragged import Ragged
from regard.data.corpora.pair import words
from regard.decoding.hypothesis import Hypothesis
from regard.inspection.readings.alignment import diagonal_links
from regard.tasks.translation.model import Translator
from regard.tasks.translation.result import Translation
from regard.tasks.translation.search_batches import force_batches

MOST_WORDS = 80
"""Source words that are left out, one after the other; of a longer sentence attention alone counts."""
SHARE = 0.75
"""What leaving out counts, beside attention."""
BATCH_TOKENS = 4096


def influences(translator: object, outputs: Sequence[Translation]) -> list[Float[Tensor, "target source"] | None]:
    r"""Give for each output how much each of its words comes from each source word, rows that sum to one or less.

    $$m_{ij} = \tfrac14 \bar\alpha_{ij} + \tfrac34 \frac{d_{ij}}{\sum_k d_{ik}}, \qquad
    d_{ij} = \max\bigl(0, \log p(y_i \mid x) - \log p(y_i \mid x_{\setminus j})\bigr)$$

    where $\bar\alpha$ are the weights that links are read from and $x_{\setminus j}$ is the source without word $j$.
    Attention alone finds the right word for 87 % of the words of the built-in corpus, both together for 95 %. Models
    without attention, long sentences and other engines have one of the two parts; where there is neither, words come
    from those as far along the sentence. Of a model with a head that was trained on word links, that head alone counts.
    An output without words has None.

    Reference: Li, Monroe and Jurafsky (2016), equation 2, arXiv:1612.08220 (leaving out).
    """
    dropped: list[Tensor | None] = [None] * len(outputs)
    if isinstance(translator, Translator) and translator.reading.head is None:
        dropped = leave_out_words(translator, outputs)
    return [_join(output, drop) for output, drop in zip(outputs, dropped, strict=True)]


def _join(output: Translation, drop: Tensor | None) -> Tensor | None:
    if not words(output.text):
        return None
    attended = output.word_weights("marks")
    attention = None if attended is None else attended[:, :-1].double()
    if drop is None:
        return _diagonal(output) if attention is None else attention
    share = drop / drop.sum(1, keepdim=True).clamp_min(1e-9)
    return share if attention is None else SHARE * share + (1 - SHARE) * attention


def _diagonal(output: Translation) -> Float[Tensor, "target source"]:
    source, target = len(words(output.tokenizers.source.normalize(output.read.text))), len(words(output.text))
    weights = torch.zeros(target, source, dtype=torch.float64)
    for link in diagonal_links(source, target):
        weights[link.target, link.source] = 1.0
    return weights


def leave_out_words(
    translator: Translator, outputs: Sequence[Translation]
) -> list[Float[Tensor, "target source"] | None]:
    """Give for each output by how much the log-probability of each word falls without each source word; 0 at least.

    None for outputs without words, and for those of long sentences.
    """
    counts = [len(words(translator.tokenizers.source.normalize(output.read.text))) for output in outputs]
    chosen = [
        (row, word)
        for row, (output, count) in enumerate(zip(outputs, counts, strict=True))
        if words(output.text) and count <= MOST_WORDS
        for word in range(count)
    ]
    examples = Examples(
        source=Ragged.from_lists([_without(outputs[row], word) for row, word in chosen]),
        target=Ragged.from_lists([outputs[row].hypothesis.tokens[:-1] for row, _ in chosen]),
    )
    lengths = examples.source.lengths + 1, examples.target.lengths + 1
    plan = make_index_batches(*lengths, tokens=BATCH_TOKENS, shuffle=False)
    result: list[Tensor | None] = [None] * len(outputs)
    for row, _ in chosen:
        if result[row] is None:
            result[row] = torch.zeros(len(words(outputs[row].text)), counts[row], dtype=torch.float64)
    forced = force_batches(translator.predictor, examples, plan, weights=False, device=translator.device)
    for index, item in forced:
        row, word = chosen[index]
        drops = result[row]
        assert drops is not None
        drops[:, word] = _drop(outputs[row], item)
    return result


def _without(output: Translation, word: int) -> list[int]:
    """Give the source's tokens without those of a word."""
    numbered = zip(output.source_ids.tolist(), output.source_words, strict=True)
    return [token for token, number in numbered if number != word]


def _drop(output: Translation, forced: Hypothesis) -> Float[Tensor, " target"]:
    """Give by how much each word of an output is less likely than it was."""
    numbers = list(output.target_words)
    # The last token of an output that was cut off is not read again, and has no probability to compare.
    numbers = numbers[: len(output.hypothesis.tokens) - 1]
    before = np.array(output.hypothesis.log_probabilities[: len(numbers)])
    drop = np.maximum(before - np.array(forced.log_probabilities[: len(numbers)]), 0.0)
    total = np.zeros(len(words(output.text)))
    np.add.at(total, numbers, drop)
    return torch.from_numpy(total)
