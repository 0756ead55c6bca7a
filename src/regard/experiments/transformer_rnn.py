"""Transformer against RNN in training time: one computes a sentence word by word, the other all words at once.

A recurrent step waits for the one before it, so a batch of n words takes n small products in a row; self-attention
makes the same number of words into a few large ones, at the price of comparing every pair. What that is worth depends
on the machine: here it is one CPU core, where a large product is faster than many small ones only by what starting each
costs. On a GPU, which computes thousands of words at once, the small ones leave most of it idle.

Both have about as many parameters, read the same batches of about 1,000 tokens, and are timed at several lengths.

Reference: Vaswani et al. (2017), section 4 and tables 1 and 2, arXiv:1706.03762.
"""

from matplotlib.figure import Figure

from regard.config.model import NetworkSpec, TransformerSpec
from regard.data.builtin import corpus
from regard.data.corpora.pair import Pair
from regard.experiments.drawing import draw_lines
from regard.experiments.experiment import Experiment, Result, Row, Settings
from regard.experiments.translators import CORPUS, Trained, bleu, learn_words, smoothed, telling, train_preset
from regard.inspection.drawing.panels import panels
from regard.models.sequence.build import count_parameters
from regard.tasks.translation.presets import preset

RNN, TRANSFORMER = "RNN, attention", "Transformer"
SPECS: dict[str, NetworkSpec] = {
    RNN: preset("bahdanau", tokens=100_000, vocabulary=1_000),
    TRANSFORMER: TransformerSpec(
        size=128, num_encoder_layers=2, num_decoder_layers=2, num_heads=4, feed_forward_size=256
    ),
}
RATES = {RNN: 4e-3, TRANSFORMER: 1e-3}


def _pairs(low: int, high: int, size: int, seed: int) -> list[Pair]:
    return corpus(CORPUS, split="train", size=size, seed=seed, min_words=low, max_words=high)


def measure(settings: Settings) -> Result:
    """Time a few steps at each length, then train both on sentences of up to 20 words."""
    lengths, few = settings.choose(full=(((4, 6), (16, 20), (50, 60)), 12), quick=(((4, 6), (9, 12)), 1))
    size, steps, tested = settings.choose(full=(3_000, 250, 100), quick=(40, 4, 4))
    at_length: dict[str, dict[int, float]] = {name: {} for name in SPECS}
    for low, high in lengths:
        settings.watch(0.0, f"timing sentences of {low} to {high} words")
        pairs = _pairs(low, high, settings.choose(full=400, quick=40), settings.seed)
        tokenizers = learn_words(pairs)
        for name, spec in SPECS.items():
            at_length[name][high] = train_preset(spec, pairs, tokenizers=tokenizers, steps=few).milliseconds
    pairs, trained = _pairs(3, 20, size, settings.seed), dict[str, Trained]()
    tokenizers = learn_words(pairs)
    for number, (name, spec) in enumerate(SPECS.items()):
        trained[name] = train_preset(
            spec,
            pairs,
            tokenizers=tokenizers,
            steps=steps,
            learning_rate=RATES[name],
            watch=telling(settings, f"training {name}", 0.1 + 0.45 * number, 0.45),
        )
    test = corpus(CORPUS, split="test", size=tested, seed=settings.seed)
    rows: list[Row] = [
        {
            "model": name,
            "parameters": count_parameters(result.translator.network),
            "milliseconds a step": result.milliseconds,
            "seconds": result.seconds,
            "loss": smoothed(result.losses)[-1],
            "BLEU": bleu(result.translator, test),
        }
        for name, result in trained.items()
    ]
    times: list[Row] = [{"model": name} | {f"{n} words": t for n, t in by.items()} for name, by in at_length.items()]
    return Result(
        tables={f"After {steps} steps": rows, "Milliseconds a step of about 1,000 tokens, by sentence length": times},
        figure=_draw(at_length, trained),
        reading=_read(at_length, trained, rows),
    )


def _draw(at_length: dict[str, dict[int, float]], trained: dict[str, Trained]) -> Figure:
    titles = ["a step of about 1,000 tokens", "training on up to 20 words"]
    figure, (left, right) = panels(1, 2, size=(4.7, 3.3), titles=titles)
    lines = [(name, list(by), list(by.values())) for name, by in at_length.items()]
    draw_lines(left, lines, xlabel="words a sentence, up to", ylabel="milliseconds", limits=(0, None))
    left.set_xticks(lines[0][1])
    curves = [(name, result.ended, smoothed(result.losses)) for name, result in trained.items()]
    draw_lines(right, curves, xlabel="seconds", ylabel="loss per token", markers=False)
    return figure


def _read(at_length: dict[str, dict[int, float]], trained: dict[str, Trained], rows: list[Row]) -> tuple[str, str, str]:
    shortest, longest = min(at_length[RNN]), max(at_length[RNN])
    growth = {name: by[longest] / by[shortest] for name, by in at_length.items()}
    first = f"From sentences of {shortest} words to {longest}, with as many tokens in a batch, a step of the RNN takes "
    first += f"{growth[RNN]:.1f} times as long and one of the Transformer {growth[TRANSFORMER]:.1f} times: "
    first += (
        "longer sentences cost the RNN more." if growth[RNN] > growth[TRANSFORMER] else "waiting does not show here."
    )
    times = {name: by[longest] for name, by in at_length.items()}
    second = f"At {longest} words it is {times[RNN]:.0f} ms for the RNN and {times[TRANSFORMER]:.0f} ms for the "
    second += "Transformer, on one core: here the "
    second += f"{'Transformer' if times[TRANSFORMER] < times[RNN] else 'RNN'} trains faster per token."
    reached = {str(row["model"]): float(row["BLEU"]) for row in rows}
    seconds = {name: result.seconds for name, result in trained.items()}
    third = f"After as many steps, {seconds[RNN]:.0f} s of the RNN's and {seconds[TRANSFORMER]:.0f} s of the "
    third += (
        f"Transformer's, they reach {reached[RNN]:.0f} and {reached[TRANSFORMER]:.0f} BLEU: on a corpus this small, "
    )
    third += f"the {'RNN' if reached[RNN] > reached[TRANSFORMER] else 'Transformer'} learns more from each."
    return first, second, third


EXPERIMENT = Experiment(
    name="transformer-rnn",
    shows="how long a step of training takes a Transformer and an RNN, by sentence length, and what each learns",
    idea="why self-attention",
    measure=measure,
)
