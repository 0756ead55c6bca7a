"""The page that `joeynmt.py` writes: settings of both systems, then what was measured."""

import os
import platform
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from joeynmt_settings import FITTED, Case

import regard

Found = dict[str, Any]
Rate = Callable[[Found], float]
NAMES = {"joey": "Joey NMT", "regard": "regard", "same": "regard, with Joey NMT's batches"}


def write_report(cases: Sequence[Case], results: Found, device: str = "cpu") -> str:
    """Write all that has been measured so far as Markdown."""
    parts = [_head(results) if device == "cpu" else _head_gpu(results), _settings(cases, results)]
    if "train" in results:
        parts.append(_training(cases, results["train"]))
    if "translate" in results:
        parts.append(_translation(cases, results["translate"]))
    return "\n".join(parts)


def _head(results: Found) -> str:
    return f"""# Beside Joey NMT 2.3 on a CPU, one thread, float32

Commands: `python benchmarks/joeynmt.py --data multi30k --joey PYTHON --work WORK --train`, the same with `--translate`.
Machine: {_processor()}, {os.cpu_count()} cores, of which a process uses one. regard {regard.__version__}, Python
{platform.python_version()}, torch {results["tokens"]["torch"]} on both sides. Every figure is the median over rounds in
which the systems take turns, each time in a new process (OMP_NUM_THREADS=1); ratios are medians of the ratios within a
round. CPU seconds count what the process itself used, whatever else the machine did.
"""


def _head_gpu(results: Found) -> str:
    import torch

    return f"""# Beside Joey NMT 2.3 on a GPU, float32

Command: `python benchmarks/joeynmt.py --data multi30k --joey PYTHON --work WORK --translate --device cuda`.
Machine: one {torch.cuda.get_device_name()}. regard {regard.__version__}, Python {platform.python_version()}, torch
{torch.__version__} on both sides. Every figure is the median over rounds in which the systems take turns, each time in
a new process, which has translated the same sentences once before.
"""


def _processor() -> str:
    path = Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def _settings(cases: Sequence[Case], results: Found) -> str:
    measured = results.get("train", {}).get("models", {})

    def sizes(case: Case) -> str:
        both = [f"{measured[case.name][side][0]['parameters']:,}" for side in ("joey", "regard")] if measured else []
        return f"{case.sizes}{'; parameters: Joey NMT ' + both[0] + ', regard ' + both[1] if both else ''}"

    rows = "\n".join(
        f"| {case.title} | {sizes(case)} | {case.batch_tokens:,} | {case.dropout} | "
        f"β {case.betas[0]}, {case.betas[1]}; {f'clipped at {case.clip:g}' if case.clip else 'not clipped'} |"
        for case in cases
    )
    return f"""## The same in both

Multi30k English to German, lower-cased and tokenized, 29,000 pairs, in the pieces of one joint BPE of 10,000 merges
(9,712 tokens with the special ones). Both are given text already in pieces, so that Joey NMT need not apply its BPE
anew to every batch; the numbers of all {results["tokens"]["tokens"]:,} tokens agree. Loss: cross-entropy with label
smoothing 0.1, mean over target tokens. AdamW without decay, rate by the inverse square root.

| model | sizes | tokens a batch | dropout | AdamW |
| --- | --- | ---: | --- | --- |
{rows}

Not the same: Joey NMT counts rows × longest until it has at least so many tokens, regard until it has at most; Joey NMT
draws sentences of any length into a batch, regard those of like length, which saves padding ("with Joey NMT's batches"
leaves that out: the same sentences in the same batches). Joey NMT's smoothing gives nothing to padding; its output has
no bias, and its attentional layer has one.
"""


def _training(cases: Sequence[Case], found: Found) -> str:
    rows = []
    for case in cases:
        sides = found["models"][case.name]
        for side, name in NAMES.items():
            rows.append(
                _row(case.title if side == "joey" else "", name)
                + _rates(sides, side, lambda one: one["tokens"] / one["seconds"], digits=0)
                + _rates(sides, side, lambda one: one["tokens"] / one["cpu_seconds"], digits=0)
                + f" {_median(sides[side], lambda one: 100 * one['padding']):.0f}% |"
                + f" {_median(sides[side], lambda one: one['memory'] / 2**20):,.0f} |"
            )
    rounds = len(found["models"][cases[0].name]["joey"])
    timed = ", ".join(f"{case.updates} ({case.title})" for case in cases)
    return f"""## Training, target tokens a second

{found["date"]}, {rounds} rounds of {timed} updates of Joey NMT's and of regard's on the same batches, and twice as many
of regard's on its own, each after 2 that do not count. An update is all between two batches: making the batch, forward,
backward, clipping, AdamW.

| model | system | tokens/s | ratio | tokens/CPU s | ratio | padding | peak MiB |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |
{chr(10).join(rows)}
"""


def _translation(cases: Sequence[Case], found: Found) -> str:
    rows, checks = [], []
    count = found["sentences"]
    for case in cases:
        sides = found["models"][case.name]
        for side in ("joey", "regard"):
            rows.append(
                _row(case.title if side == "joey" else "", NAMES[side])
                + _rates(sides, side, lambda one: count / one["seconds"], digits=1)
                + _rates(sides, side, lambda one: count / one["cpu_seconds"], digits=1)
                + f" {_median(sides[side], lambda one: 1e3 * one['cpu_seconds'] / one['tokens']):.2f} |"
                + f" {_median(sides[side], lambda one: one['tokens'] / count):.2f} |"
                + f" {_median(sides[side], lambda one: one['bleu']):.2f} |"
                + f" {_median(sides[side], lambda one: one['memory'] / 2**20):,.0f} |"
            )
        same = ""
        if "cross_entropy" in sides:
            entropy = sides["cross_entropy"]
            same = (
                f"cross-entropy of the test set {entropy['joey']:.5f} (Joey NMT) and {entropy['regard']:.5f} (regard); "
            )
            same += f"greedy output the same for {sides['greedy']:.1%} of the sentences, "
        checks.append(f"- {case.title}: {same}output of beam search the same for {sides['alike']:.1%}.")
    return f"""## Translation, sentences a second, beam of 5

{found["date"]}, {len(found["models"][cases[0].name]["joey"])} rounds over {count:,} sentences of test 2016. **Both have
the same parameters**: regard has trained the models for {FITTED:,} updates, and Joey NMT is given the result,
with a bias of its output, which it does not have by itself:

{chr(10).join(checks)}

Outputs have 1 to 100 tokens; Joey NMT searches 64 sentences at a time in the order of the file, as its configuration
for this data set does; regard takes sentences of like length together, by its default. regard ranks by the
log-probability over the length, Joey NMT over (5 + length) / 6. Time counts everything from text to text, but not
loading the model.

| model | system | sentences/s | ratio | sentences/CPU s | ratio | CPU ms/token | tokens/output | BLEU | peak MiB |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
{chr(10).join(rows)}
"""


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _rates(sides: Found, side: str, rate: Rate, *, digits: int) -> str:
    """Give a rate, and how many times Joey NMT's it is."""
    pairs = zip(sides[side], sides["joey"], strict=True)
    times = "1.00" if side == "joey" else f"**{median(rate(ours) / rate(theirs) for ours, theirs in pairs):.2f}**"
    return f" {_median(sides[side], rate):,.{digits}f} | {times} |"


def _median(rows: Sequence[Found], figure: Rate) -> float:
    return median(map(figure, rows))
