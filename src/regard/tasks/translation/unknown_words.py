"""Unknown words: what a model of whole words cannot output is taken from the source, by attention."""

from collections.abc import Mapping
from pathlib import Path

from jaxtyping import Float
from torch import Tensor

from regard.data.corpora.pair import words
from regard.data.formats.lines import read_lines
from regard.data.text.detokenize import join_words
from regard.data.text.special import END, PAD, START, UNKNOWN
from regard.data.text.tokenizer import TokenizerPair
from regard.errors import DataError, brief
from regard.inspection.readings.alignment import PLAIN, Reading, choose_weights


def replace_unknown(
    tokens: tuple[int, ...],
    weights: Float[Tensor, "layers heads target source"],
    source: str,
    tokenizers: TokenizerPair,
    dictionary: Mapping[str, str],
    reading: Reading = PLAIN,
) -> str:
    r"""Write an output with each `<unk>` replaced by the source word that it attends to most, or by its translation.

    $$j = \arg\max_j \sum_{k \in \text{word } j} \bar\alpha_{ik}$$

    where $\bar\alpha$ are the weights an alignment is read from and $i$ is the position of `<unk>`; `</s>` is left out.
    A word that `dictionary` does not know is copied, as names and numbers want to be.

    Reference: Luong et al. (2015), section 3.3, arXiv:1410.8206; Jean et al. (2015), section 3.3, arXiv:1412.2007.
    Differs: the position comes from attention, as in Luong, Pham and Manning (2015), section 4.1, arXiv:1508.04025.
    """
    names = words(tokenizers.source.normalize(source))
    numbers = tokenizers.source.encode(source).words
    attended = choose_weights(weights, reading)
    output = []
    for index, token in enumerate(tokens):
        if token in (PAD, START, END):
            continue
        output.append(tokenizers.target.pieces([token])[0])
        if token == UNKNOWN and names:
            totals = [0.0] * len(names)
            for number, weight in zip(numbers, attended[index, :-1].tolist(), strict=False):
                totals[number] += weight
            word = names[max(range(len(names)), key=totals.__getitem__)]
            output[-1] = dictionary.get(word) or dictionary.get(word.lower()) or word
    return join_words(output)


def read_dictionary(path: Path) -> dict[str, str]:
    """Read a TSV file, a source word and its translation a line; of several lines for a word the first counts."""
    result: dict[str, str] = {}
    for number, line in enumerate(read_lines(path), start=1):
        if not isinstance(line, str):
            raise DataError(str(line))
        if not line.strip():
            continue
        word, tab, translation = line.partition("\t")
        if not tab or not word.strip() or not translation.strip():
            raise DataError(
                f'{path}, line {number} must be a word, a tab and its translation; received "{brief(line)}". '
                "Write one pair a line."
            )
        result.setdefault(word.strip(), " ".join(translation.partition("\t")[0].split()))
    if not result:
        raise DataError(f"{path} must have a word, a tab and its translation in a line; received none. Write some.")
    return result
