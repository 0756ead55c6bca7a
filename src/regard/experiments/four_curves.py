"""Quality by length, four times: a fixed vector and attention, each trained on short and on longer sentences.

The figure of the paper has models trained on sentences of up to 30 and of up to 50 words, and tests on up to 60. Here
sentences come from the built-in grammar and training takes a minute, so everything is halved: models trained on up to
15 and on up to 25 words, tests on up to 40. The statistical translator is beside them, counted on the longer ones.

On a text of the user's, by a recipe, lengths are the paper's, and a Transformer is beside them: `length_curves`.

Reference: Bahdanau, Cho and Bengio (2015), figure 2 and section 5.1, arXiv:1409.0473; Cho et al. (2014), section 4,
arXiv:1409.1259.
"""

from itertools import pairwise

from matplotlib.figure import Figure

from regard.data.builtin import corpus
from regard.data.corpora.pair import Pair
from regard.decoding.search import Search
from regard.experiments.drawing import draw_lines
from regard.experiments.experiment import Experiment, Result, Row, Settings
from regard.experiments.length_curves import measure_on_text
from regard.experiments.translators import CORPUS, bleu, count_preset, draw_pairs, learn_words, telling, train_preset
from regard.inspection.drawing.panels import PALETTE, panels

PRESETS = {"attention": "bahdanau", "fixed vector": "fixed"}
STATISTICAL = "statistical"

Curves = dict[tuple[str, int], dict[int, float]]
"""By model and the most words it was trained on: BLEU by the most words of the sentences tested."""


def draw_test(edges: tuple[int, ...], each: int, *, seed: int) -> dict[int, list[Pair]]:
    """Draw so many test sentences of each bin of lengths, by the most words of a bin."""
    return {
        high: corpus(CORPUS, split="test", size=each, seed=seed, min_words=low + 1, max_words=high)
        for low, high in pairwise(edges)
    }


def measure(settings: Settings) -> Result:
    """Train four models, count a fifth, and score all by length; on a text of the user's, five."""
    if settings.text is not None:
        return measure_on_text(settings, settings.text)
    trained_on, size, steps = settings.choose(full=((15, 25), 4_000, 400), quick=((5, 8), 60, 4))
    edges, each = settings.choose(full=((2, 5, 10, 15, 20, 25, 30, 35, 40), 25), quick=((2, 5, 10), 5))
    test, curves = draw_test(edges, each, seed=settings.seed), Curves()
    for group, longest in enumerate(trained_on):
        pairs = draw_pairs(size, seed=settings.seed, longest=longest)
        tokenizers = learn_words(pairs)
        for number, (name, preset) in enumerate(PRESETS.items()):
            doing, begun = f"{name}, up to {longest} words", (2 * group + number) / 4.4
            trained = train_preset(
                preset,
                pairs,
                tokenizers=tokenizers,
                steps=steps,
                watch=telling(settings, doing, begun, 0.9 / 4.4),
            )
            curves[name, longest] = {high: bleu(trained.translator, some) for high, some in test.items()}
    settings.watch(4 / 4.4, "counting words")
    counted = count_preset(pairs, tokenizers=tokenizers)
    curves[STATISTICAL, longest] = {high: bleu(counted, some, Search(beam=5)) for high, some in test.items()}
    return Result(
        tables={f"BLEU by source length, {steps} steps": _rows(curves)}, figure=_draw(curves), reading=_read(curves)
    )


def _rows(curves: Curves) -> list[Row]:
    return [
        {"model": name, "trained on": f"up to {longest} words"}
        | {f"up to {high}": value for high, value in scores.items()}
        for (name, longest), scores in curves.items()
    ]


def _draw(curves: Curves) -> Figure:
    figure, [axes] = panels(1, 1, size=(6.5, 3.8), titles=["BLEU by source length"])
    lines = [
        (f"{name}, to {longest}", list(scores), list(scores.values())) for (name, longest), scores in curves.items()
    ]
    shades = {"attention": (PALETTE[5], PALETTE[0]), "fixed vector": (PALETTE[4], PALETTE[1])}
    short = min(longest for _, longest in curves)
    colors = [PALETTE[6] if name == STATISTICAL else shades[name][int(longest > short)] for name, longest in curves]
    draw_lines(axes, lines, xlabel="words in the source, up to", ylabel="BLEU", colors=colors, limits=(0, 100))
    axes.set_xticks(lines[0][1])
    return figure


def _read(curves: Curves) -> tuple[str, str, str]:
    short, long = sorted({longest for _, longest in curves})
    farthest = max(curves["attention", long])
    within = _bin(curves, short)
    fixed, attention = (curves[name, long] for name in ("fixed vector", "attention"))
    first = (
        f"Of the models trained on up to {long} words, the fixed vector goes from {fixed[within]:.0f} BLEU at {within} "
    )
    first += f"words to {fixed[farthest]:.0f} at {farthest}, attention from {attention[within]:.0f} to "
    first += f"{attention[farthest]:.0f}."
    gains = {name: curves[name, long][farthest] - curves[name, short][farthest] for name in PRESETS}
    second = (
        f"At {farthest} words, longer training sentences change attention by {gains['attention']:+.0f} BLEU and the "
    )
    second += f"fixed vector by {gains['fixed vector']:+.0f}: "
    second += (
        "what attention learned on short sentences carries less far than the paper's did."
        if gains["attention"] > 20
        else "attention hardly needs to have seen the length."
    )
    means = {name: _mean(curves[name, long]) for name in (*PRESETS, STATISTICAL)}
    third = f"Over all lengths attention reaches {means['attention']:.0f} BLEU, the statistical translator "
    third += f"{means[STATISTICAL]:.0f} and the fixed vector {means['fixed vector']:.0f}: attention "
    third += "beats counting." if means["attention"] > means[STATISTICAL] else "does not beat counting here."
    return first, second, third


def _bin(curves: Curves, words: int) -> int:
    """Give the first bin that such sentences are in."""
    return min(high for high in next(iter(curves.values())) if high >= words)


def _mean(scores: dict[int, float]) -> float:
    return sum(scores.values()) / len(scores)


EXPERIMENT = Experiment(
    name="four-curves",
    shows="BLEU by length of a fixed vector and of attention, each trained on short and on longer sentences",
    idea="why attention",
    measure=measure,
    on_text=True,
)
