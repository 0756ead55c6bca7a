r"""Attention against models that count as aligners of words, each beside what it has learned from.

IBM Model 1 counts which target words come where a source word does; the hidden Markov model counts jumps from the
source of one word to that of the next too. Both may learn from the very pairs they align, since nobody tells them
their links. Attention learns to translate, and its weights $\alpha_{ij}$ are read as links: a target
word goes with the source word of the largest weight, unless that is the end. The error of links $A$ against gold links,
sure ($S$) and possible ($P \supseteq S$), is

$$\text{AER} = 1 - \frac{|A \cap S| + |A \cap P|}{|A| + |S|}$$

Reference: Brown et al. (1993), section 4.2; Vogel, Ney and Tillmann (1996); Bahdanau, Cho and Bengio (2015), section
5.2.2, arXiv:1409.0473; Och and Ney (2003), for the error.
"""

from collections.abc import Sequence

from matplotlib.figure import Figure

from regard.data.builtin import corpus
from regard.data.corpora.pair import Pair
from regard.evaluation.alignment_error import alignment_error
from regard.experiments.drawing import draw_bars
from regard.experiments.experiment import Experiment, Result, Row, Settings
from regard.experiments.translators import CORPUS, Trained, draw_pairs, learn_words, train_preset
from regard.inspection.drawing.panels import PALETTE, panels
from regard.tasks.alignment.align import align, join_directions, turned_pairs
from regard.tasks.alignment.counted import (
    BOTH_EXPECT,
    align_by_counting,
    align_counted,
    align_diagonally,
    count_both_directions,
    count_words,
)
from regard.tasks.alignment.result import Alignment

DIAGONAL, COUNTED, BOTH_WAYS, ATTENTION = "diagonal", "IBM Model 1", "IBM Model 1, both directions", "attention"
MARKOV, MARKOV_BOTH = "hidden Markov model", "hidden Markov models that agree"
TESTED = "the test pairs"


def measure(settings: Settings) -> Result:
    """Train one translator with attention, count words three times, and score the links of all."""
    size, tested, steps = settings.choose(full=(5_000, 500, 500), quick=(300, 60, 10))
    pairs, test = draw_pairs(size, seed=settings.seed), corpus(CORPUS, split="test", size=tested, seed=settings.seed)
    trained = train_preset(
        "bahdanau",
        pairs,
        tokenizers=learn_words(pairs),
        steps=steps,
        watch=lambda share: settings.watch(0.8 * share, "training the translator"),
    )
    settings.watch(0.8, "counting words")
    rows = _rows(trained, pairs, test, steps)
    return Result(
        tables={f"Links of {tested} test pairs of {CORPUS} against gold links": rows},
        figure=_draw(rows),
        reading=_read(rows),
    )


def _rows(trained: Trained, pairs: list[Pair], test: list[Pair], steps: int) -> list[Row]:
    many, all_pairs = f"{len(pairs):,} training pairs", f"{len(pairs):,} training pairs and {TESTED}"
    forward, backward = (align_by_counting(some, train_on=more) for some, more in _directions(test, pairs))
    markov = align_by_counting(test, train_on=pairs, model="hmm")
    both = zip(count_both_directions([*pairs, *test]), (test, turned_pairs(test)), strict=True)
    there, back = (align_counted(counted, some) for counted, some in both)
    aligned: list[tuple[str, str, list[Alignment]]] = [
        (DIAGONAL, "nothing", align_diagonally(test)),
        (COUNTED, TESTED, align_by_counting(test)),
        (COUNTED, many, align_counted(count_words(pairs), test)),
        (COUNTED, all_pairs, forward),
        (BOTH_WAYS, all_pairs, join_directions(forward, backward, "grow-diag")),
        (MARKOV, all_pairs, markov),
        (MARKOV_BOTH, all_pairs, join_directions(there, back, "agreement", threshold=BOTH_EXPECT)),
        (ATTENTION, f"{many}, {steps:,} steps", align(trained.translator, test)),
    ]
    return [_row(name, learned, links, test) for name, learned, links in aligned]


def _directions(test: list[Pair], pairs: list[Pair]) -> list[tuple[list[Pair], list[Pair]]]:
    return [(test, pairs), (turned_pairs(test), turned_pairs(pairs))]


def _row(name: str, learned: str, links: Sequence[Alignment], test: Sequence[Pair]) -> Row:
    scores = alignment_error([alignment.links for alignment in links], [pair.links for pair in test])
    return {
        "links by": name,
        "learned from": learned,
        "error": scores.error,
        "precision": scores.precision,
        "recall": scores.recall,
    }


def _draw(rows: list[Row]) -> Figure:
    figure, [axes] = panels(1, 1, size=(7.5, 4.0), titles=["alignment error, by what was learned from"])
    names = [f"{row['links by']}\n{row['learned from']}" for row in rows]
    shades = {DIAGONAL: PALETTE[6], COUNTED: PALETTE[1], BOTH_WAYS: PALETTE[4], ATTENTION: PALETTE[0]}
    shades |= {MARKOV: PALETTE[2], MARKOV_BOTH: PALETTE[3]}
    colors = [shades[str(row["links by"])] for row in rows]
    draw_bars(axes, names, [100 * float(row["error"]) for row in rows], xlabel="AER, %", digits=1, colors=colors)
    axes.tick_params(axis="y", labelsize=8)
    return figure


def _read(rows: list[Row]) -> tuple[str, str, str]:
    errors = [float(row["error"]) for row in rows]
    diagonal, tested, many, both, joined, markov, markov_joined, attention = (
        f"{100 * error:.1f} %" for error in errors
    )
    first = f"Attention's links have an error of {attention}, those of the diagonal {diagonal}: "
    first += (
        "a translator that was shown no link has learned them."
        if errors[-1] < errors[0]
        else "it has not learned them."
    )
    second = (
        f"IBM Model 1 errs by {tested} where it knows the test pairs alone, by {many} from the training pairs and by "
    )
    second += f"{both} from both: how it compares depends on what it has learned from."
    third = (
        f"From the same training pairs attention is {'better' if errors[-1] < errors[2] else 'worse'} than IBM Model 1 "
    )
    third += f"({attention} against {many}); in both directions, with the test pairs too, counting reaches "
    third += f"{joined}, and with jumps {markov_joined} ({markov} in one direction)."
    return first, second, third


EXPERIMENT = Experiment(
    name="word-links",
    shows="word links by attention, by models that count and by the diagonal, each beside what it has learned from",
    idea="attention as alignment",
    measure=measure,
)
