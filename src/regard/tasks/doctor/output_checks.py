"""What a translator outputs for held-out sentences: nothing, the same again and again, its input, or `<unk>`."""

from collections.abc import Sequence
from typing import NamedTuple

from regard.data.corpora.pair import Pair, words
from regard.evaluation.attention_tally import AttentionTally, HeadAttention
from regard.tasks.doctor.check import Check, check
from regard.tasks.doctor.training_checks import Course

_LONGEST = 4
"""Words of a sequence that may repeat."""


class Output(NamedTuple):
    """A held-out pair, and what the model made of its source."""

    pair: Pair
    text: str
    finished: bool = True


def check_outputs(outputs: Sequence[Output], course: Course) -> list[Check]:
    """Check the outputs of a translator."""
    texts, total = [item.text for item in outputs], max(1, len(outputs))
    output_words = [words(text.replace("<unk>", _UNKNOWN)) for text in texts]
    references = [words(item.pair.target) for item in outputs]
    produced, wanted = (max(1, sum(map(len, side))) for side in (output_words, references))
    repeating = [
        count_repeated(made) >= count_repeated(reference) + 3
        for made, reference in zip(output_words, references, strict=True)
    ]
    sources = len({item.pair.source for item in outputs})
    return [
        _check_share("empty output", sum(not text.strip() for text in texts) / total, "are empty", course, most=0.02),
        _check_share("repeating output", sum(repeating) / total, "repeat words or phrases", course, most=0.05),
        check(
            "copied output",
            sum(map(is_copied, outputs)) / total,
            most=0.1,
            problem="{value} of the outputs are mostly words of the source.",
            advice="Leave out pairs with the same text on both sides (data.clean.drop_identical = true), and see the "
            f"findings on the data. {course.advice}",
        ),
        check(
            "unknown words in the output",
            sum(made.count(_UNKNOWN) for made in output_words) / produced,
            most=0.01,
            problem="{value} of the words output are <unk>.",
            advice='Divide words into pieces (tokenizer.kind = "bpe"); translation replaces <unk> by the source word '
            "attended to unless unknown=keep.",
        ),
        check(
            "length of the output",
            produced / wanted,
            least=0.8,
            most=1.25,
            unit="number",
            problem="The output has {value} times as many words as the references.",
            advice=f"Choose search.length_penalty on the validation data. {course.advice}",
        ),
        _check_share(
            "output without an end",
            sum(not item.finished for item in outputs) / total,
            "reach the longest length without </s>",
            course,
            most=0.02,
        ),
        check(
            "different outputs",
            len(set(texts)) / max(1, sources),
            least=0.5 if sources > 1 else 0.0,
            problem="The model outputs {value} as many texts as there are sources: it hardly depends on its input.",
            advice=f"See the checks of attention and of the data. {course.advice}",
        ),
    ]


def check_attention(tally: AttentionTally) -> list[Check]:
    """Check what the decoder attends to in the source, by the best of its heads; none for a model without."""
    heads: Sequence[HeadAttention] = tally.result()
    if not heads:
        return []
    advice = "The model has not learned to read the source: train longer, check the data, or guide the attention by "
    advice += "word links (train.guided_alignment)."
    return [
        check(
            "attention on </s>",
            min(head.end_mass for head in heads),
            most=0.5,
            problem="Even the head that attends to it least puts {value} of its weight on the end of the source, </s>.",
            advice=advice,
        ),
        check(
            "attention spread out",
            min(head.relative_entropy for head in heads),
            most=0.95,
            problem="Even the sharpest head has an entropy of {value} of that of equal weights: nothing is chosen.",
            advice=advice,
        ),
    ]


def count_repeated(text: Sequence[str]) -> int:
    """Count the words that repeat what stands right before them, one to four words long.

    >>> count_repeated("the cat the cat the cat sleeps".split()), count_repeated("a big dog".split())
    (4, 0)
    """
    repeated = set[int]()
    for size in range(1, _LONGEST + 1):
        for start in range(size, len(text) - size + 1):
            if text[start : start + size] == text[start - size : start]:
                repeated.update(range(start, start + size))
    return len(repeated)


def is_copied(output: Output) -> bool:
    """Return whether half of the output, two words at least, is of the source and not of the reference.

    >>> is_copied(Output(Pair(source="ein Hund bellt laut", target="a dog barks loudly"), "ein Hund bellt"))
    True
    """
    made = [word for word in words(output.text) if word.isalpha()]
    source, reference = set(words(output.pair.source)), set(words(output.pair.target))
    copied = sum(word in source and word not in reference for word in made)
    return copied >= 2 and 2 * copied >= len(made)


def _check_share(name: str, share: float, what: str, course: Course, *, most: float) -> Check:
    return check(name, share, most=most, problem=f"{{value}} of the outputs {what}.", advice=course.advice)


_UNKNOWN = "unkunkunk"
"""A word that stands for `<unk>`, which is three by our division."""
