"""What `regard evaluate` prints: figures of a translator, of a language model, or of a model of another task."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from regard.cli.draw_lengths import draw_lengths
from regard.cli.label_measures import print_scores
from regard.cli.tables import print_table
from regard.cli.terminal import sanitize

if TYPE_CHECKING:
    from regard.tasks.evaluation.evaluate import Evaluation
    from regard.tasks.evaluation.sides import SideEvaluation
    from regard.tasks.evaluation.texts import TextEvaluation

ALL_HEADS = 12
"""Heads that are shown one by one; of more, each layer's mean."""


def show_evaluation(result: "Evaluation | TextEvaluation | SideEvaluation") -> None:
    """Print figures as tables."""
    from regard.tasks.evaluation.evaluate import Evaluation
    from regard.tasks.evaluation.texts import TextEvaluation

    match result:
        case Evaluation():
            _show_translator(result)
        case TextEvaluation():
            _show_language(result)
        case _:
            _show_side(result)
    print(f"\n{result.signature}")


def _show_translator(result: "Evaluation") -> None:
    from regard.evaluation.by_length import FEW

    print(f"{sanitize(result.title)}\n")
    rows = [
        [name, f"{score.value:.2f}", f"{score.low:.1f}–{score.high:.1f}", result.measures[name].signature]
        for name, score in result.scores.items()
    ]
    print_table(["", "score", "95 %", "signature"], rows, words=(0, 3))
    _show_model(result)
    rows = [
        [str(item.bin) + (" *" if item.few else ""), f"{item.sentences:,}"]
        + [
            cell
            for score in item.scores.values()
            for cell in (f"{score.value:.1f}", f"{score.low:.1f}–{score.high:.1f}")
        ]
        for item in result.lengths
    ]
    print_table(["words in the source", "sentences", "BLEU", "95 %", "chrF", "95 %"], rows, title="\nBy source length")
    if any(item.few for item in result.lengths):
        print(f"* fewer than {FEW} sentences")
    print()
    show_lengths([result])
    _show_attention(result)
    for note in result.notes:
        print(f"\nnote: {sanitize(note)}")


def _show_model(result: "Evaluation") -> None:
    outputs = result.outputs
    if outputs.perplexity is not None:
        item = outputs.perplexity
        print(
            f"\nperplexity  {item.per_token:,.2f} a token ({outputs.token}), {item.per_word:,.2f} a word, "
            f"{item.bits_per_character:.3f} bits a character; ends of sentences counted"
        )
    if outputs.parameters is not None and outputs.sentences_per_second is not None:
        print(f"model       {outputs.parameters:,} parameters, {outputs.sentences_per_second:,.1f} sentences/s")


def show_lengths(evaluations: Sequence["Evaluation"]) -> None:
    """Draw quality by length as bars."""
    scores = {item.name: [length.scores["BLEU"] for length in item.lengths] for item in evaluations}
    bins = evaluations[0].lengths
    lines = draw_lengths(scores, bins=[str(item.bin) for item in bins], sentences=[item.sentences for item in bins])
    print("\n".join(lines))


def _show_attention(result: "Evaluation") -> None:
    heads = result.outputs.attention
    if not heads:
        return
    layers = sorted({item.layer for item in heads})
    groups = {f"layer {item.layer}, head {item.head}": [item] for item in heads}
    if len(heads) > ALL_HEADS:
        groups = {f"layer {layer}, mean of heads": [item for item in heads if item.layer == layer] for layer in layers}
    rows = []
    for name, some in groups.items():
        means = [
            sum(getattr(item, field) for item in some) / len(some)
            for field in ("entropy", "relative_entropy", "coverage", "end_mass")
        ]
        rows.append([name, f"{means[0]:.2f}", *(f"{mean:.0%}" for mean in means[1:])])
    print_table(
        ["", "entropy, nats", "of uniform", "source covered", "weight on </s>"], rows, title="\nAttention of the output"
    )


def _show_language(result: "TextEvaluation") -> None:
    """Print the figures, of each text where there are several."""
    item = result.total
    if len(result.texts) > 1:
        rows = [
            [
                name,
                f"{text.perplexity:,.2f}",
                f"{text.bits_per_character:.4f}",
                f"{text.bits_per_byte:.4f}",
                f"{text.tokens:,}",
                f"{text.unknown:,}",
            ]
            for name, text in [*result.texts.items(), ("all", item)]
        ]
        print_table(["", "perplexity", "bits a character", "bits a byte", "tokens", "unknown"], rows)
        print()
    else:
        print(f"{sanitize(result.title)}\n")
    size = "counts" if result.parameters is None else f"{result.parameters:,} parameters"
    print(
        f"perplexity  {item.perplexity:,.2f} a token ({item.loss:.4f} nats), {item.bits_per_character:.4f} bits a "
        f"character, {item.bits_per_byte:.4f} bits a byte\n"
        f"tokens      {item.tokenization}; {item.tokens:,}, {item.unknown:,} of them unknown; ends of lines counted\n"
        f"read        {result.reading}\n"
        f"model       {size}, {result.tokens_per_second:,.0f} tokens/s"
    )
    if item.unknown:
        print("\nnote: bits a character and a byte cannot be compared: what is unknown was not spelled")
    if item.altered:
        differ = "1 line differs" if item.altered == 1 else f"{item.altered:,} lines differ"
        print(
            f"\nnote: {differ} from what the tokens write (white space, case, form); characters and bytes are those of "
            "the tokens, and can be compared only with tokens that keep as much"
        )


def _show_side(result: "SideEvaluation") -> None:
    from regard.tasks.evaluation.sides import UNITS

    print(f"{sanitize(result.title)}\n")
    if result.scores is not None:
        print_scores(result.scores, result.labels, count=result.items, unit=UNITS[result.task])
    elif result.task == "questions":
        from regard.tasks.questions.page import kind_rows

        start = f"{result.side}_accuracy_"
        kinds = [name.removeprefix(start) for name in result.figures if name.startswith(start)]
        rows = kind_rows(result.figures, kinds, result.side)
        print_table(["right, percent", "model", "majority", "question alone"], rows)
        print(f"\n{result.summary()}")
    else:
        print(result.summary())
    for note in result.notes:
        print(f"\nnote: {sanitize(note)}")
