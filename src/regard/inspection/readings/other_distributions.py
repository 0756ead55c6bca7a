"""Other distributions: would the model predict the same with other weights?"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.errors import ArgumentError
from regard.inspection.drawing.map import Map, weights_of
from regard.inspection.readings.compare import divergence
from regard.inspection.readings.distance import total_variation
from regard.inspection.trace.distribution import distribution, uniform_weights
from regard.inspection.trace.intervene import intervene
from regard.inspection.trace.record import record
from regard.inspection.trace.trace import Call
from regard.layers.process_switches import without_cudnn

CAVEAT = (
    "That other weights give the same answer shows these are not the only explanation; that none were found does not "
    "show they are."
)
_STRENGTH = 500.0  # of the penalty; the paper's λ


@dataclass(frozen=True, kw_only=True, eq=False)
class Other:
    """Weights other than the model's own, and how much they changed."""

    weights: Map
    """The mean over heads, where there are several."""
    forced: Float[Tensor, "one heads query key"]
    """As `intervene` takes them."""
    divergence: float
    """Mean Jensen-Shannon divergence from the model's own weights, in nats: at most log 2 = 0.693."""
    change: float
    """The largest total variation between predictions."""
    tolerance: float

    @property
    def within_tolerance(self) -> bool:
        """Return whether the prediction stayed within the tolerance."""
        return self.change <= self.tolerance


def another_distribution(
    model: nn.Module,
    run: Callable[[], Tensor],
    *,
    layer: str,
    tolerance: float = 0.01,
    steps: int = 200,
    seed: int = 0,
) -> Other:
    r"""Search for weights as far from the model's own as can be that leave its predictions as they are.

    $$\max_{\alpha'} \mathrm{JSD}(\alpha, \alpha') \quad\text{where}\quad
    \mathrm{TVD}(\hat y(\alpha), \hat y(\alpha')) \le \varepsilon$$

    by Adam on $-\mathrm{JSD} + \lambda \max(0, \mathrm{TVD} - \varepsilon)$, from random logits. `run` calls the model
    on one example, and `layer` once, and gives logits or log-probabilities; $\varepsilon$ is `tolerance`. Of all steps
    within the tolerance the farthest is given; where none was, the one that changed least, and `within_tolerance` is
    False.

    Reference: Jain and Wallace (2019), section 4.2.2, arXiv:1902.10186.
    Differs: one distribution is sought and not several at once; every head and query of the layer has its own.
    """
    if steps < 1:
        raise ArgumentError(f"`steps` must be at least 1; received {steps}.")
    call, before = _own(model, run, layer)
    own = call.weights[:1]
    allowed = None if call.mask is None else call.mask[:1]
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(own.shape, generator=generator).to(own).requires_grad_()
    optimizer = torch.optim.Adam([logits], lr=0.1)
    best: tuple[tuple[bool, float], Tensor, float, float] | None = None
    for _ in range(steps):
        forced = distribution(logits, allowed) * own.sum(-1, keepdim=True)
        with torch.enable_grad(), without_cudnn, intervene(model, weights={layer: forced}):
            change = total_variation(before, run()).max()
        if not change.requires_grad:
            raise ArgumentError(
                "`run` must compute its predictions in a graph that holds the weights; received some cut from it. "
                "Leave out torch.no_grad()."
            )
        far = _mean_divergence(own, forced)
        moved, apart = float(change.detach()), float(far.detach())
        rank = (moved <= tolerance, apart if moved <= tolerance else -moved)
        if best is None or rank > best[0]:
            best = (rank, forced.detach().clone(), apart, moved)
        loss = _STRENGTH * (change - tolerance).clamp_min(0.0) - far
        optimizer.zero_grad()
        (logits.grad,) = torch.autograd.grad(loss, [logits])
        optimizer.step()
    assert best is not None
    return _other(call, best[1], best[2], best[3], tolerance)


@torch.no_grad()
def uniform_distribution(model: nn.Module, run: Callable[[], Tensor], *, layer: str, tolerance: float = 0.01) -> Other:
    """Give every key the same weight, and measure what changes: the plainest of other distributions.

    Reference: Wiegreffe and Pinter (2019), section 3.2, arXiv:1908.04626.
    Differs: the paper trains a model with uniform weights; here a trained one is made to use them.
    """
    call, before = _own(model, run, layer)
    own = call.weights[:1]
    forced = uniform_weights(own, None if call.mask is None else call.mask[:1])
    return _measured(model, run, layer, call, forced, before, tolerance)


@torch.no_grad()
def shuffled_distributions(
    model: nn.Module, run: Callable[[], Tensor], *, layer: str, times: int = 20, tolerance: float = 0.01, seed: int = 0
) -> list[Other]:
    """Shuffle the weights of every row among the keys it may attend to, again and again, and measure what changes.

    Reference: Jain and Wallace (2019), section 4.2.1, algorithm 2, arXiv:1902.10186.
    """
    call, before = _own(model, run, layer)
    generator = torch.Generator().manual_seed(seed)
    return [_measured(model, run, layer, call, _shuffled(call, generator), before, tolerance) for _ in range(times)]


def _own(model: nn.Module, run: Callable[[], Tensor], layer: str) -> tuple[Call, Tensor]:
    """Run the model undisturbed; give its one call and its predictions."""
    with torch.no_grad(), record(model, layers=layer) as trace:
        before = run()
    if len(trace) != 1 or trace[0].weights.size(0) != 1:
        examples = trace[0].weights.size(0) if len(trace) else 0
        raise ArgumentError(
            f"`run` must call one layer that {layer} matches once, on one example; received {len(trace)} calls, on "
            f"{examples} examples."
        )
    return trace[0], before


def _shuffled(call: Call, generator: torch.Generator) -> Tensor:
    own = call.weights[:1].cpu()
    open_keys = torch.ones_like(own, dtype=torch.bool) if call.mask is None else call.mask[:1].cpu()
    forced = torch.zeros_like(own)
    for index in open_keys.any(-1).nonzero().tolist():
        keys = open_keys[tuple(index)].nonzero().squeeze(-1)
        order = keys[torch.randperm(len(keys), generator=generator)]
        forced[tuple(index)][keys] = own[tuple(index)][order]
    return forced.to(call.weights.device)


def _mean_divergence(own: Tensor, forced: Tensor) -> Tensor:
    sums = own.sum(-1, keepdim=True)
    rows = sums.squeeze(-1) > 0
    scale = sums.masked_fill(sums <= 0, 1.0)
    return divergence(own / scale, forced / scale)[rows].mean() if bool(rows.any()) else own.new_zeros(())


def _measured(
    model: nn.Module,
    run: Callable[[], Tensor],
    layer: str,
    call: Call,
    forced: Tensor,
    before: Tensor,
    tolerance: float,
) -> Other:
    with intervene(model, weights={layer: forced}):
        change = float(total_variation(before, run()).max())
    return _other(call, forced, float(_mean_divergence(call.weights[:1], forced)), change, tolerance)


def _other(call: Call, forced: Tensor, far: float, change: float, tolerance: float) -> Other:
    map = weights_of(replace(call, weights=forced))
    named = replace(map, name=f"{map.name}: other weights", caveat=CAVEAT)
    return Other(weights=named, forced=forced, divergence=far, change=change, tolerance=tolerance)
