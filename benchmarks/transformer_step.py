"""Whole training steps of Transformers in bfloat16, parts of blocks called one by one and computed together.

    python benchmarks/transformer_step.py [--rounds 30]

Steps are replayed as CUDA graphs. For each model: milliseconds, target tokens a second, kernels of a step, and how far
loss and gradients of either way are from float32, dropout off. The first is a translator of 6 + 6 × 256 on batches of
8,192 target tokens, the second a decoder of 12 × 768 on 16 × 1,024 tokens, the third a translator of 4 + 4 × 128.
"""

import argparse
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import torch
from torch import nn

from regard.bench.measure import measure
from regard.bench.training import Case, _our_step, _pairs, _translation, cases, highest_rate
from regard.config.model import TransformerSpec
from regard.config.train import Train
from regard.layers.fused import choose
from regard.models.sequence.build import build_model

WAYS = {"one by one": (), "together": ("cuda",)}


@contextmanager
def computed(devices: tuple[str, ...]) -> Iterator[None]:
    before, choose.DEVICES = choose.DEVICES, devices
    try:
        yield
    finally:
        choose.DEVICES = before


def wide() -> Case:
    spec = TransformerSpec(size=256, num_encoder_layers=6, num_decoder_layers=6, num_heads=4, feed_forward_size=1024)
    vocabulary = 16_000
    return Case(
        name="Transformer, translation",
        sizes="6 + 6 × 256, 680 × 16 tokens",
        batch=_pairs(680, 16, vocabulary),
        ours=lambda: build_model(spec, source_vocabulary=vocabulary, target_vocabulary=vocabulary),
        plain=nn.Identity,
        loss=_translation,
    )


def kernels(work: Callable[[], object]) -> Counter[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
            work()
            torch.cuda.synchronize()
    device = torch.autograd.DeviceType.CUDA
    return Counter(event.name[:60] for event in profile.events() if event.device_type == device)


def results(case: Case, device: torch.device, *, half: bool, devices: tuple[str, ...]) -> list[torch.Tensor]:
    """Give loss and gradients without dropout."""
    torch.manual_seed(0)
    model = case.ours().to(device).train()
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    with computed(devices), torch.autocast("cuda", torch.bfloat16, enabled=half):
        loss = case.loss(model, case.batch.to(device)).total
    with computed(devices):
        loss.backward()
    return [loss.detach(), *(item.grad for item in model.parameters() if item.grad is not None)]


def distance(result: list[torch.Tensor], truth: list[torch.Tensor]) -> tuple[float, float]:
    """Give the relative error of the loss, and that of all gradients together."""
    apart = sum(float((a - b).double().square().sum()) for a, b in zip(result[1:], truth[1:], strict=True))
    size = sum(float(b.double().square().sum()) for b in truth[1:])
    return abs(float(result[0] / truth[0]) - 1), (apart / size) ** 0.5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--names", action="store_true", help="list the kernels of a step")
    options = parser.parse_args()
    device = torch.device("cuda")
    first, *_, last = cases(large=True)
    for case in (wide(), last, first):
        works = {}
        for name, devices in WAYS.items():
            with computed(devices):
                works[name] = _our_step(case, case.loss, Train(precision="auto", graphs=True), device)
                for _ in range(3):  # the second captures
                    works[name]()
        times = measure(works, rounds=options.rounds, device=device)
        few = case if case.batch.cells <= 8192 else replace(case, batch=case.batch.halve()[0].halve()[0])
        truth = results(few, device, half=False, devices=())
        highest = highest_rate(device) if case.operations else 0.0
        print(f"{case.name}, {case.sizes}")
        for name, devices in WAYS.items():
            loss, gradients = distance(results(few, device, half=True, devices=devices), truth)
            ms, counted = times[name].milliseconds, kernels(works[name])
            speed = case.batch.num_tokens / ms * 1e3
            share = f", {case.operations / ms * 1e3 / highest:.1%} of the ceiling" if highest else ""
            print(
                f"  {name:<10} {ms:7.2f} ms {speed:10,.0f} tokens/s {counted.total():5} kernels; "
                f"from float32: loss {loss:.1e}, gradients {gradients:.1e}{share}",
                flush=True,
            )
            for kernel, count in counted.most_common(25) if options.names else ():
                print(f"      {count:5} {kernel}")
        del works, truth
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
