"""The kernels of `layers.fused` in Triton's interpreter, which must be chosen before Triton is imported: a program.

On a GPU the same comparisons are tests.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal

os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from regard.attention import Padding
from regard.config.attention import AdditiveSpec
from regard.config.language import TransformerLanguageSpec
from regard.config.model import RecurrentSpec, TransformerSpec
from regard.layers.fused import block_triton, choose, conditional_loop, conditional_triton, operations
from regard.layers.fused.operations import Draw, Norm
from regard.layers.mechanisms.additive import AdditiveAttention
from regard.layers.recurrent.conditional_gru import ConditionalGRU
from regard.models.language.build import build_network
from regard.models.precision import in_precision
from regard.models.sequence.build import build_model
from regard.training.precision import matrices_of_linears, round_to_bfloat16

TOLERANCE = {torch.float32: 2e-5, torch.bfloat16: 2e-2}


@contextmanager
def together(*devices: str) -> Iterator[None]:
    """Compute parts together on these devices."""
    before, choose.DEVICES = choose.DEVICES, devices
    try:
        yield
    finally:
        choose.DEVICES = before


def agree(results: list[Any], expected: list[Any], tolerance: float) -> None:
    for result, truth in zip(results, expected, strict=True):
        assert (result is None) == (truth is None)
        if truth is not None:
            scale = max(1.0, float(truth.detach().float().abs().max()))
            torch.testing.assert_close(result.float(), truth.float(), atol=tolerance * scale, rtol=tolerance)


def differentiated(work: Callable[..., Any], *tensors: Any) -> list[Any]:
    """Give what `work` makes of copies of the tensors, and the gradients of those that are floating."""
    copies = [item.detach().clone().requires_grad_() if isinstance(item, Tensor) else item for item in tensors]
    outputs = work(*copies)
    outputs = [outputs] if isinstance(outputs, Tensor) else [item for item in outputs if item.numel()]
    random = torch.Generator().manual_seed(1)
    loss = sum((item.float() * torch.randn(item.shape, generator=random).to(item.device)).sum() for item in outputs)
    leaves = [item for item in copies if isinstance(item, Tensor)]
    assert isinstance(loss, Tensor)
    return [*outputs, *torch.autograd.grad(loss, leaves, allow_unused=True)]


def compare_operations(device: str) -> None:
    """Compare each operation with its plain form: odd sizes, all switches, two precisions."""
    draw = Draw(torch.randint(2**62, (1,), device=device), 3, 0.3)
    sizes = ((1, 5), (37, 24), (70, 129), *(((5000, 768),) if device == "cuda" else ()))
    for dtype, tolerance in TOLERANCE.items():
        for rows, size in sizes:
            states = torch.randn(rows, size, device=device)
            product, bias = torch.randn(rows, size, device=device, dtype=dtype), torch.randn(size, device=device)
            weight, shift = torch.randn(size, device=device), torch.randn(size, device=device)
            for with_product, with_bias, with_norm, dropped in SWITCHES:

                def add(
                    form: Any, states: Tensor, product: Any, bias: Any, weight: Any, shift: Any, drop: bool = dropped
                ) -> Any:
                    norm = None if weight is None else Norm(weight, shift, 1e-5, dtype)
                    total, normed = form(states, product, bias, norm, draw if drop else None)
                    parts = ([] if product is None else [total]) + ([] if weight is None else [normed])
                    return tuple(parts)

                inputs = (
                    states,
                    product if with_product else None,
                    bias if with_product and with_bias else None,
                    weight if with_norm else None,
                    shift if with_norm and with_bias else None,
                )
                results = [
                    differentiated(lambda *items: add(form, *items), *inputs)
                    for form in (operations.add_and_norm, operations.plain_add_and_norm)
                ]
                agree(*results, tolerance)
        for activation in ("relu", "gelu", "swish", "swiglu"):
            for with_bias, dropped in ((True, True), (True, False), (False, False)):
                product = torch.randn(37, 2 * 67, device=device, dtype=dtype)
                bias = torch.randn(2 * 67, device=device) if with_bias else None
                results = [
                    differentiated(
                        lambda product, bias: form(product, bias, activation, draw if dropped else None), product, bias
                    )
                    for form in (operations.activate, operations.plain_activate)
                ]
                agree(*results, tolerance)
        for widths in ((7,), (16, 5), (32, 16, 16), (8, 8, 8, 8, 24)):
            parts = [torch.randn(41, width + 3, device=device, dtype=dtype)[:, :width] for width in widths]
            merged, sums = operations.merge(parts, summed=True)
            assert torch.equal(merged, torch.cat(parts, dim=1))
            agree([sums], [merged.float().sum(0)], 1e-5)


#: Product, bias, norm, dropout.
SWITCHES = [
    (True, True, True, True),
    (True, False, True, False),
    (True, True, False, True),
    (True, True, False, False),
    (False, True, True, False),
    (False, False, True, False),
]


def compare_dropout(device: str) -> None:
    """See that dropout drops its share, evenly, and other numbers for each seed and call."""
    masks = []
    for seed, call in ((1 << 40, 1), (1 << 40, 2), ((1 << 40) + 1, 1), (3 << 40, 1)):
        factors = operations.factors(
            Draw(torch.tensor([seed], device=device), call, 0.25), torch.empty(400, 300, device=device)
        )
        kept = (factors > 0).float()
        assert factors.unique().tolist() == [0.0, torch.tensor(4 / 3).item()]
        assert abs(float(kept.mean()) - 0.75) < 0.006
        assert float((kept.mean(0) - 0.75).abs().max()) < 0.11
        assert float((kept.mean(1) - 0.75).abs().max()) < 0.12
        masks += [kept, kept.roll(1, 0), kept.roll(1, 1)]
    apart = torch.corrcoef(torch.stack([mask.flatten() for mask in masks]))
    assert float((apart - torch.eye(len(masks), device=device)).abs().max()) < 0.015


def models() -> Iterator[tuple[str, nn.Module, tuple[Tensor, ...]]]:
    """Give small models with the shapes of their inputs."""
    source, target = torch.randint(4, 20, (3, 7)), torch.randint(4, 20, (3, 6))
    lengths = torch.tensor([7, 3, 5])
    for norm in ("pre", "post"):
        spec = TransformerSpec(
            size=24,
            num_encoder_layers=2,
            num_decoder_layers=2,
            num_heads=4,
            feed_forward_size=40,
            dropout=0.0,
            norm=norm,
        )  # type: ignore[arg-type]
        yield (
            f"translator, {norm}",
            build_model(spec, source_vocabulary=20, target_vocabulary=20),
            (source, lengths, target),
        )
    grouped = TransformerSpec(
        size=24, num_encoder_layers=1, num_decoder_layers=1, num_heads=4, num_key_value_heads=2, feed_forward_size=40,
        activation="swiglu", position="rotary", dropout=0.0,
    )  # fmt: skip
    yield "grouped", build_model(grouped, source_vocabulary=20, target_vocabulary=20), (source, lengths, target)
    language = TransformerLanguageSpec(
        size=24, num_layers=2, num_heads=4, feed_forward_size=40, position="learned", context=8, dropout=0.0
    )
    yield "language", build_network(language, vocabulary_size=20), (source,)


def output_of(model: nn.Module, inputs: tuple[Tensor, ...]) -> Tensor:
    result: Any = model(*inputs)
    return result if isinstance(result, Tensor) else model.output(result.features)  # type: ignore[operator]


def compare_models(device: str) -> None:
    """Compare outputs and gradients of whole models, with and without autocast."""
    for name, model, inputs in models():
        model, inputs = model.to(device), tuple(item.to(device) for item in inputs)
        parameters = [item for item in model.parameters() if item.requires_grad]
        results = []
        for half, devices in ((False, ()), (False, (device,)), (True, ()), (True, (device,))):
            with together(*devices), torch.autocast(device, torch.bfloat16, enabled=half):
                output = output_of(model, inputs).float()
                gradients = torch.autograd.grad(output.sin().sum(), parameters, allow_unused=True)
            results.append([output, *gradients])
        truth, result, plain, fused = results
        agree(result, truth, 1e-4)
        off, own = distance(plain, truth), distance(fused, truth)
        # the interpreter cuts float32 to bfloat16 off, where a GPU rounds
        assert own < (1.5 if device == "cuda" else 2.5) * off + 1e-3, (name, own, off)


def distance(results: list[Any], truth: list[Any]) -> float:
    """Give the mean over tensors of how far each is from the truth, in its own size.

    A gradient far below the others is rounding alone, such as that of the keys' bias, which a softmax drops.
    """
    pairs = [(one.detach(), other.detach()) for one, other in zip(results, truth, strict=True) if other is not None]
    small = 0.03 * sum(float(other.norm()) for _, other in pairs) / len(pairs)
    return sum(float((one - other).norm()) / (float(other.norm()) + small) for one, other in pairs) / len(pairs)


def compare_second_derivatives(device: str) -> None:
    _, model, inputs = next(models())
    model, inputs = model.to(device), tuple(item.to(device) for item in inputs)
    parameters = [item for name, item in model.named_parameters() if "norm" in name or "bias" in name]
    results = []
    for devices in ((device,), ()):
        with together(*devices):
            loss = output_of(model, inputs).square().mean()
            slopes = torch.autograd.grad(loss, parameters, create_graph=True, allow_unused=True)
            total = sum(item.square().sum() for item in slopes if item is not None)
            assert isinstance(total, Tensor)
            results.append([*slopes, *torch.autograd.grad(total, parameters, allow_unused=True)])
    agree(*results, 1e-4)


def step_by_step(model: Any, inputs: tuple[Tensor, ...], *, static: bool) -> Tensor:
    """Give the logits of some steps of decoding with two hypotheses for each sentence, re-ordered on the way."""
    source, lengths, target = inputs
    rows = torch.arange(2 * len(source), device=source.device) // 2
    target, logits = target[rows], []
    with torch.inference_mode():
        memory = model.encode(source, lengths)
        state = model.start(memory, capacity=1).select(rows)
        state = state.fixed(8) if static else state
        for position in range(target.size(1)):
            if position:
                state = state.select(torch.tensor([1, 0, 2, 2, 5, 4], device=source.device))
            features, state, _ = model.step_features(target[:, position : position + 1], state, memory)
            logits.append(model.output(features))
        features, _, _ = model.step_features(target[:, :2], state, memory)
        return torch.cat([*logits, model.output(features)], dim=1).float()


def compare_steps(device: str) -> None:
    """Compare steps of decoding, with the cache that grows and with the one of one shape; hooks are called."""
    translators = [(name, model.eval(), inputs) for name, model, inputs in models() if name != "language"]
    for name, model, inputs in translators:
        model, inputs = model.to(device), tuple(item.to(device) for item in inputs)
        with together():
            truth = step_by_step(model, inputs, static=False)
            plain = step_by_step(in_precision(model, "bfloat16"), inputs, static=False)
        with together(device):
            for static in (False, True):
                agree([step_by_step(model, inputs, static=static)], [truth], 1e-4)
                fused = step_by_step(in_precision(model, "bfloat16"), inputs, static=static)
                off, own = distance([plain], [truth]), distance([fused], [truth])
                assert own < (1.2 if device == "cuda" else 2.5) * off + 1e-3, (name, own, off)
            for part in ("decoder.0", "decoder.0.self_attention.output", "decoder.0.feed_forward_residual.norm"):
                called: list[str] = []
                handle = model.get_submodule(part).register_forward_hook(lambda *_: called.append("once"))
                agree([step_by_step(model, inputs, static=True)], [truth], 1e-4)
                handle.remove()
                assert called or part == "decoder.0", part


def count_step_launches() -> None:
    """Count what a block adds to a step of decoding in bfloat16, but for attention itself."""
    counts = []
    for devices in (("cpu",), ()):
        of_blocks = []
        for blocks in (2, 3):
            spec = TransformerSpec(
                size=32, num_encoder_layers=1, num_decoder_layers=blocks, num_heads=2, feed_forward_size=64
            )
            model = in_precision(build_model(spec, source_vocabulary=20, target_vocabulary=20).eval(), "bfloat16")
            with together(*devices), counted_kernels() as counter, torch.inference_mode():
                memory = model.encode(torch.randint(4, 20, (4, 8)))
                state = model.start(memory, capacity=1).fixed(8)
                counter.count = 0
                model.step_features(torch.zeros(4, 1, dtype=torch.long), state, memory)
                of_blocks.append(counter.count)
        counts.append(of_blocks[1] - of_blocks[0])
    together_count, apart = counts
    assert together_count <= MOST_STEP_LAUNCHES < apart, (together_count, apart)


def check_fallbacks(device: str) -> None:
    """See that a hook on any part of a block is called, and that dropout repeats by the seed."""
    _, model, inputs = next(models())
    model, inputs = model.to(device), tuple(item.to(device) for item in inputs)
    with together(device):
        for name in (
            "encoder.0",
            "encoder.1.attention.output",
            "decoder.0.feed_forward",
            "decoder.1.cross_attention.key",
        ):
            called: list[str] = []
            handle = model.get_submodule(name).register_forward_hook(lambda *_: called.append("once"))
            output_of(model, inputs)
            handle.remove()
            assert called == ["once"], name
        for module in model.modules():
            if isinstance(module, nn.Dropout):
                module.p = 0.4
        outputs = []
        for seed in (1, 1, 2):
            torch.manual_seed(seed)
            outputs.append(output_of(model, inputs))
        assert torch.equal(outputs[0], outputs[1])
        assert not torch.equal(outputs[0], outputs[2])


#: What starts nothing on a GPU, or is done on a CPU alone.
NO_KERNEL = ("_unsafe_view", "detach", "empty", "promote_types", "_local_scalar_dense", "linalg_vector_norm")


class Launches(TorchDispatchMode):
    """Counts what a GPU would be given: operations of torch that are no views, and our kernels."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        quiet = function.is_view or any(part in str(function) for part in NO_KERNEL)
        self.count += not quiet
        return function(*args, **(kwargs or {}))


def launches(spec: TransformerSpec | RecurrentSpec, length: int, *devices: str) -> int:
    """Count forward and backward passes of a translator over targets of this length, in bfloat16."""
    model = build_model(spec, source_vocabulary=20, target_vocabulary=20)
    source, target = torch.randint(4, 20, (4, 8)), torch.randint(4, 20, (4, length))
    lengths = torch.tensor([8, 3, 5, 2])
    with together(*devices), counted_kernels() as counted, torch.autocast("cpu", torch.bfloat16):
        matrices = matrices_of_linears(model)
        rounded = dict(zip(matrices, round_to_bfloat16(matrices.values()), strict=True))
        torch.func.functional_call(model, rounded, (source, lengths, target)).sum().backward()
    return counted.count


@contextmanager
def counted_kernels() -> Iterator[Launches]:
    """Count launches inside, those of our kernels too."""
    files = (block_triton, conditional_triton)
    kernels = [(file, name, item) for file in files for name, item in vars(file).items() if name.endswith("_kernel")]
    with Launches() as counted:
        for file, name, kernel in kernels:
            setattr(file, name, Counted(kernel, counted))
        try:
            yield counted
        finally:
            for file, name, kernel in kernels:
                setattr(file, name, kernel)


class Counted:
    """A kernel whose launches are counted, and what the interpreter does for it is not."""

    def __init__(self, kernel: Any, counter: Launches) -> None:
        self.kernel, self.counter = kernel, counter

    def __getitem__(self, grid: Any) -> Any:
        def run(*arguments: Any, **options: Any) -> None:
            self.counter.count += 1
            with torch.utils._python_dispatch._disable_current_modes():
                self.kernel[grid](*arguments, **options)

        return run


#: Launches of an encoder and a decoder block together, forward and backward: they may fall, and must not grow.
MOST_LAUNCHES = 78
#: Launches of a step of Bahdanau's decoder: three products and three kernels, forward and backward.
LOOP_LAUNCHES = 12
#: Of a decoder block in a step of decoding.
MOST_STEP_LAUNCHES = 19


def of_blocks(blocks: int) -> TransformerSpec:
    return TransformerSpec(
        size=32, num_encoder_layers=blocks, num_decoder_layers=blocks, num_heads=2, feed_forward_size=64, dropout=0.1
    )


def count_launches() -> None:
    together_count, apart = (
        launches(of_blocks(3), 8, *devices) - launches(of_blocks(2), 8, *devices) for devices in (("cpu",), ())
    )
    assert together_count <= MOST_LAUNCHES < apart, (together_count, apart)
    spec = recurrent("linear")
    a_step, apart = (launches(spec, 6, *devices) - launches(spec, 5, *devices) for devices in (("cpu",), ()))
    assert a_step == LOOP_LAUNCHES, a_step
    assert apart > 2 * LOOP_LAUNCHES, apart


def recurrent(output: Literal["linear", "maxout"]) -> RecurrentSpec:
    attention = AdditiveSpec(hidden_size=14)
    return RecurrentSpec(embedding_size=12, hidden_size=20, attention=attention, output=output, dropout=0.0)


def compare_loop(device: str) -> None:
    """Compare all steps of Bahdanau's decoder with the modules: one block of keys and several, padding or none."""
    for output, keys in (("linear", 9), ("maxout", 71)):
        model = build_model(recurrent(output), source_vocabulary=20, target_vocabulary=20).to(device)
        source = torch.randint(4, 20, (4, keys), device=device)
        target = torch.randint(4, 20, (4, 5), device=device)
        for lengths in (None, torch.tensor([keys, 3, 1, keys - 2], device=device)):
            results = []
            for half, devices in ((False, ()), (False, (device,)), (True, ()), (True, (device,))):
                with together(*devices), torch.autocast(device, torch.bfloat16, enabled=half):
                    predicted = model(source, lengths, target).float()
                results.append([predicted, *torch.autograd.grad(predicted.sin().sum(), list(model.parameters()))])
            truth, result, plain, fused = results
            agree(result, truth, 2e-5)
            off, own = distance(plain, truth), distance(fused, truth)
            assert own < (1.2 if device == "cuda" else 6.0) * off + 1e-3, (output, own, off)


def compare_loop_kernels(device: str) -> None:
    """Compare the kernels alone, where a row has no key, and where numbers are large, with what modules compute."""
    rows, size, keys, compared, width, steps = 3, 5, 40, 7, 300, 4
    attention, cell = AdditiveAttention(size, width, compared).to(device), ConditionalGRU(6, size, width).to(device)
    for scale, lengths in ((1.0, [40, 0, 33]), (40.0, [2, 40, 0])):
        mask = Padding(torch.tensor(lengths, device=device))
        words, state = torch.randn(rows, steps, 6, device=device), torch.randn(rows, size, device=device)
        memory = torch.randn(rows, keys, width, device=device)

        def modules(words: Tensor, state: Tensor, memory: Tensor, mask: Padding = mask) -> Any:
            remembered, states, contexts = attention.remember(memory, mask=mask), [], []
            for word in words.unbind(1):
                context = attention(state[:, None], remembered)[:, 0]
                state = cell(word, state, context)
                states.append(state)
                contexts.append(context)
            return torch.stack(states, dim=1), torch.stack(contexts, dim=1)

        def loop(words: Tensor, state: Tensor, memory: Tensor, mask: Padding = mask) -> Any:
            with together(device):
                remembered = attention.remember(memory, mask=mask)
                assert conditional_loop.can_run(attention, cell, words, state, remembered)
                return conditional_loop.run(attention, cell, words, state, remembered)

        with torch.no_grad():
            attention.query.weight.mul_(scale)
        tensors = words, state, memory
        agree(differentiated(loop, *tensors), differentiated(modules, *tensors), 2e-5)


if __name__ == "__main__":
    torch.manual_seed(0)
    count_launches()
    count_step_launches()
    compare_steps("cpu")
    compare_dropout("cpu")
    compare_operations("cpu")
    compare_models("cpu")
    compare_second_derivatives("cpu")
    check_fallbacks("cpu")
    compare_loop("cpu")
    compare_loop_kernels("cpu")
    print("agrees")
