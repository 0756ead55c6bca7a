"""Bahdanau's model, forward and backward without the output matrix: 128 sentences of 30 words, 256 / 512.

    python benchmarks/recurrent_step.py [--rows 128 --length 30]

Beside a plain loop over `nn.GRUCell`, its CUDA graph, and cuDNN's GRU of the same width without attention.
"""

import argparse
import statistics
from collections.abc import Callable

import torch
from torch import nn

from regard.bench.plain_models import PlainRecurrent
from regard.config.attention import AdditiveSpec
from regard.config.model import RecurrentSpec
from regard.models.sequence.build import build_model

VOCABULARY = 8000


def timed(work: Callable[[], object], rounds: int = 20) -> float:
    """Give the median in milliseconds."""
    taken = []
    for _ in range(rounds + 3):
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        work()
        stop.record()
        torch.cuda.synchronize()
        taken.append(start.elapsed_time(stop))
    return statistics.median(taken[3:])


def captured(work: Callable[[], object]) -> Callable[[], None]:
    """Record the work as a CUDA graph."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            work()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return graph.replay


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=128)
    parser.add_argument("--length", type=int, default=30)
    options = parser.parse_args()
    device = torch.device("cuda")
    torch.autograd.graph.set_warn_on_accumulate_grad_stream_mismatch(False)
    shape = options.rows, options.length
    source, target = (torch.randint(5, VOCABULARY, shape, device=device) for _ in range(2))
    lengths = torch.full((options.rows,), options.length, device=device)
    spec = RecurrentSpec(embedding_size=256, hidden_size=512, attention=AdditiveSpec(hidden_size=512), output="linear")
    ours = build_model(spec, source_vocabulary=VOCABULARY, target_vocabulary=VOCABULARY).to(device)
    plain = PlainRecurrent(256, 512, VOCABULARY).to(device)
    alone = nn.GRU(256, 512, batch_first=True).to(device)
    words = torch.randn(*shape, 256, device=device, requires_grad=True)

    def our_step() -> None:
        ours.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.bfloat16):
            features = ours.read(source, lengths, target).features
        features.float().sum().backward()

    def our_encoder() -> None:
        ours.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.bfloat16):
            memory = ours.encode(source, lengths)
        sum(item.float().sum() for item in _tensors(memory) if item.requires_grad).backward()

    def plain_step() -> None:
        plain.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.bfloat16):
            memory, last = plain.encoder(plain.source(source))
            keys, state = plain.key(memory), torch.tanh(plain.start(last[1]))
            features = []
            for word in plain.target(target).unbind(1):
                weights = plain.vector(torch.tanh(keys + plain.query(state)[:, None])).squeeze(-1).softmax(-1)
                context = (weights[:, None].to(memory.dtype) @ memory).squeeze(1)
                state = plain.cell(torch.cat([word, context], dim=-1), state)
                features.append(torch.cat([word, context, state], dim=-1))
            features = torch.stack(features, dim=1)
        features.float().sum().backward()

    def cudnn_alone() -> None:
        alone.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.bfloat16):
            states, _ = alone(words)
        states.float().sum().backward()

    print(
        f"batch {options.rows}, {options.length} × {options.length} tokens, 256 / 512, bfloat16, forward and backward"
    )
    works = {
        "plain loop": plain_step,
        "regard": our_step,
        "regard, encoder alone": our_encoder,
        "cuDNN GRU without attention": cudnn_alone,
    }
    for name, work in works.items():
        try:
            row = f"{name:30} step by step {timed(work):8.2f} ms"
            row += f"   as a graph {timed(captured(work)):8.2f} ms"
        except RuntimeError as error:
            row = f"{name:30} {str(error).splitlines()[0]}"
        print(row, flush=True)


def _tensors(value: object) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value] if value.is_floating_point() else []
    parts = (
        list(value)
        if isinstance(value, (tuple, list))
        else list(vars(value).values())
        if hasattr(value, "__dict__")
        else []
    )
    return [item for part in parts for item in _tensors(part)]


if __name__ == "__main__":
    main()
