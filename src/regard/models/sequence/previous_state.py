"""The decoder of Bahdanau: the state before the step is the query, and every gate of the step reads the context."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.attention import Padding
from regard.layers.fused.conditional_loop import can_run, run
from regard.layers.memory import Memory
from regard.layers.recurrent.conditional_gru import ConditionalGRU
from regard.layers.recurrent.encoder import Encoded
from regard.layers.recurrent.hoisted import hoisted
from regard.layers.recurrent.readout import FeatureKind, Features
from regard.models.sequence.conditional import ConditionalLSTM, ConditionalRNN
from regard.models.sequence.hypotheses import attend_by_row
from regard.models.sequence.recurrent_decoder import (
    Cell,
    DecoderStart,
    DecoderStep,
    RecurrentDecoder,
    RecurrentMemory,
    RecurrentState,
)

CONDITIONAL: dict[Cell, type[ConditionalGRU] | type[ConditionalRNN]] = {
    "rnn": ConditionalRNN,
    "lstm": ConditionalLSTM,
    "gru": ConditionalGRU,
}


class PreviousStateDecoder(RecurrentDecoder):
    r"""Attend with the last state, then step with the context.

    $$c_i = \text{attention}(s_{i-1}, h), \qquad s_i = f(e_{i-1}, s_{i-1}, c_i), \qquad s_0 = \tanh(W_s
    \overleftarrow{h}_1)$$

    where $f$ is a `ConditionalGRU`, or the like of an LSTM or plain network. `output="maxout"` reads the state *before*
    the step, $s_{i-1}$, as the paper's appendix prints it; every other output reads $s_i$.

    The words' share of all gates is computed before the loop, the keys' share of attention once per source, and the
    output of all steps after the loop.

    Reference: Bahdanau, Cho and Bengio (2015), sections 3.1, A.2.2, arXiv:1409.0473.
    """

    def __init__(
        self,
        attention: nn.Module,
        cell: Cell,
        *,
        embedding_size: int,
        state_size: int,
        context_size: int,
        start_size: int,
        copy: bool = False,
        output: FeatureKind = "maxout",
        maxout_size: int = 1,
    ) -> None:
        super().__init__()
        self.start_size = start_size
        self.begin = DecoderStart(start_size, state_size, num_layers=1, cell=cell, copy=copy)
        self.attention = attention
        self.cell: ConditionalGRU | ConditionalRNN = CONDITIONAL[cell](embedding_size, state_size, context_size)
        self.features = Features(
            output,
            state_size=state_size,
            embedding_size=embedding_size,
            context_size=context_size,
            hidden_size=maxout_size,
        )
        self.feature_size = self.features.size

    def remember(self, encoded: Encoded, mask: Bool[Tensor, "batch source"] | Padding | None) -> RecurrentMemory:
        """Project the keys, and start from the state that has read back to the first word: the backward half."""
        cell = None if encoded.cell is None else encoded.cell[:, -1:, -self.start_size :]
        state, cell = self.begin(encoded.state[:, -1:, -self.start_size :], cell)
        source: Memory = self.attention.remember(encoded.memory, mask=mask)  # type: ignore[operator]
        return RecurrentMemory(source, None, state, cell)

    def step(
        self,
        embedding: Float[Tensor, "rows new size"],
        state: RecurrentState,
        memory: RecurrentMemory,
        *,
        weights: bool = False,
    ) -> DecoderStep:
        """Read the next words one after the other: each step needs the state that the one before it made."""
        assert memory.source is not None
        now = state.state[:, 0]
        if not weights and can_run(self.attention, self.cell, embedding, now, memory.source):
            after, contexts = run(self.attention, self.cell, embedding, now, memory.source)  # type: ignore[arg-type]
            read = after
            if self._reads_before:
                read = torch.cat([now.to(after.dtype).unsqueeze(1), after[:, :-1]], dim=1)
            last = after[:, -1:].contiguous()  # a view would keep all states
            return self._finish(embedding, state, read, last, contexts, None, None)
        cell = None if state.cell is None else state.cell[:, 0]
        states, contexts_by_step, weights_by_step = [now], [], []
        with hoisted(self, embedding):
            for projected in self.cell.project(embedding.transpose(0, 1)).unbind(0):
                attended = attend_by_row(
                    self.attention, now.unsqueeze(1), memory.source, weights=weights
                )  # the query is s_{i−1}
                context = attended.context.squeeze(1)
                if isinstance(self.cell, ConditionalLSTM):
                    assert cell is not None
                    now, cell = self.cell.step_with_cell(projected, now, cell, context)
                else:
                    now = self.cell.step(projected, now, context)
                states.append(now)
                contexts_by_step.append(context)
                weights_by_step.append(attended.weights)
        contexts = torch.stack(contexts_by_step, dim=1)
        read = torch.stack(states[:-1] if self._reads_before else states[1:], dim=1)
        last = states[-1].unsqueeze(1)
        return self._finish(embedding, state, read, last, contexts, cell, concatenate_steps(weights_by_step))

    @property
    def _reads_before(self) -> bool:
        """Whether the output reads s_{i−1}, the state before a step, rather than s_i."""
        return self.features.kind == "maxout"

    def _finish(
        self,
        embedding: Tensor,
        state: RecurrentState,
        read: Float[Tensor, "rows new size"],
        last: Float[Tensor, "rows 1 size"],
        contexts: Tensor,
        cell: Tensor | None,
        weights: Tensor | None,
    ) -> DecoderStep:
        """Compute the features of all steps from the states that the output reads; go on from the last one."""
        kept = state._replace(
            state=last,
            cell=None if cell is None else cell.unsqueeze(1),
            position=state.position + embedding.size(1),
        )
        return DecoderStep(self.features(read, embedding, contexts), kept, weights)


def concatenate_steps(
    weights: list[Float[Tensor, "rows heads 1 source"] | None],
) -> Float[Tensor, "rows heads new source"] | None:
    """Concatenate the weights of several steps."""
    parts = [item for item in weights if item is not None]
    return torch.cat(parts, dim=2) if parts else None
