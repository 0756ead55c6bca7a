"""Multi-head attention: several heads at once, each with maps of its own."""

from collections.abc import Collection
from dataclasses import replace
from typing import ClassVar

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.attention import Attended, Mask, Normalizer, Padding, Position, Rotary, ScaledDot, Score
from regard.attention.checks import check_count
from regard.attention.normalize import NormalizeFunction
from regard.attention.score import ScoreFunction
from regard.errors import ArgumentError
from regard.layers.attend import SOFTMAX, Attend
from regard.layers.attention_layer import Interface
from regard.layers.checks import check_holds_no_parameters, check_size, check_width
from regard.layers.fused.projection import project
from regard.layers.mechanisms.learned_score import LearnedScore
from regard.layers.mechanisms.sink import LearnedSink
from regard.layers.mechanisms.torch_mha import read_torch_mha, write_torch_mha
from regard.layers.memory import Memory, blank_own, blank_padding, check_memory, over_heads, speaks_of_keys
from regard.layers.position.rotary import RotaryPositions
from regard.layers.static_memory import StaticMemory

SCALED_DOT = ScaledDot()
MAPS = ("query", "key", "value", "output")


class MultiHeadAttention(nn.Module):
    r"""Attend with several heads at once, each with its own maps and so its own idea of what belongs together.

    $$\text{head}_h = \text{attention}(Q W^Q_h, K W^K_h, V W^V_h), \qquad
    \text{output} = [\text{head}_1; \dots; \text{head}_n] W^O$$

    where $W^Q, W^K, W^V, W^O$ are `query`, `key`, `value` and `output`, the heads lying side by side, each
    `head_size` wide, by default `size // num_heads`.

    - Self-attention: `layer(x)`; causal: `layer(x, mask=Causal())`; with padding: `layer(x, mask=Padding(lengths))`.
    - Cross-attention: `memory = layer.remember(key, value, mask)` once, then `layer(query, memory)` at every step.
    - With a cache: `memory.reserve(capacity)`, then `memory.append(layer.remember(x))` for each new `x`.
    - `num_key_value_heads` below `num_heads` shares each key-value head among a group of query heads.
    - `score`: any of the operator's, a function, or a `LearnedScore` with parameters per head.
    - `position`: a position, or a module that makes one when called with `query_positions`.
    - `normalize`: any of the operator's, a function, or a `LearnedSink`.
    - `bias`: whether the maps have biases: all, none, or the names of those that do, such as ("query", "key", "value").

    Reference: Vaswani et al. (2017), section 3.2.2, arXiv:1706.03762; Ainslie et al. (2023), section 2.2,
    arXiv:2305.13245, for grouped heads.
    Differs: the maps have biases, as in torch, unless `bias=False`.

    >>> import torch
    >>> from regard import Causal
    >>> layer = MultiHeadAttention(8, 2)
    >>> x = torch.zeros(2, 5, 8)
    >>> layer(x, mask=Causal()).shape
    torch.Size([2, 5, 8])
    >>> memory = layer.remember(torch.zeros(2, 3, 8), mask=Padding(torch.tensor([3, 1])))
    >>> layer(x, memory, return_weights=True).weights.shape
    torch.Size([2, 2, 5, 3])
    """

    fusible: ClassVar[bool] = True
    interface = Interface(key_positions=True, query_positions=True, position=True, alone=True, table=True)

    def __init__(
        self,
        size: int,
        num_heads: int,
        *,
        key_size: int | None = None,
        value_size: int | None = None,
        num_key_value_heads: int | None = None,
        head_size: int | None = None,
        score: Score | ScoreFunction | LearnedScore = SCALED_DOT,
        normalize: Normalizer | NormalizeFunction | LearnedSink = SOFTMAX,
        position: Position | nn.Module | None = None,
        bias: bool | Collection[str] = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        key_size = size if key_size is None else key_size
        value_size = key_size if value_size is None else value_size
        for name, width in (("size", size), ("key_size", key_size), ("value_size", value_size)):
            check_size(name, width)
        if head_size is None:
            _check_divides("num_heads", num_heads, "size", size)
            head_size = size // num_heads
        check_size("num_heads", num_heads)
        check_size("head_size", head_size)
        num_key_value_heads = num_heads if num_key_value_heads is None else num_key_value_heads
        _check_divides("num_key_value_heads", num_key_value_heads, "num_heads", num_heads)
        self.num_heads, self.num_key_value_heads = num_heads, num_key_value_heads
        self.head_size = head_size
        inner, shared = num_heads * head_size, num_key_value_heads * head_size
        biased = _biased(bias)
        self.query = nn.Linear(size, inner, bias="query" in biased)
        self.key = nn.Linear(key_size, shared, bias="key" in biased)
        self.value = nn.Linear(value_size, shared, bias="value" in biased)
        self.output = nn.Linear(inner, size, bias="output" in biased)
        for name, part, module in (("score", score, "LearnedBilinear"), ("position", position, "RelativeBiases")):
            check_holds_no_parameters(name, part, module)
        self.score = score
        self.position = position
        self.attend = Attend(normalize=normalize, dropout=dropout)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the maps as Glorot and Bengio (2010) do; biases start at zero."""
        for linear in (self.query, self.key, self.value, self.output):
            nn.init.xavier_uniform_(linear.weight)
            if linear.bias is not None:
                nn.init.zeros_(linear.bias)

    def remember(
        self,
        key: Float[Tensor, "batch key key_size"],
        value: Float[Tensor, "batch key value_size"] | None = None,
        mask: Bool[Tensor, "batch key"] | Padding | None = None,
        *,
        positions: Int[Tensor, "... key"] | None = None,
    ) -> Memory:
        """Project keys and values, by default the keys, and split them into heads.

        `positions`, (key,) or (batch, key), says where the keys stand among those they will be appended to: where the
        layer's position turns keys, as `Rotary` does, they are then turned here, once, and not at every call.
        """
        value = key if value is None else value
        check_width("key", key, self.key.in_features)
        check_width("value", value, self.value.in_features)
        key, value = blank_padding(mask, key, value)
        keys, values = self._keys_and_values(key, value)
        rotary = self._rotary()
        if positions is None or rotary is None:
            return Memory.of(keys, values, mask, clean=True)
        return Memory.of(rotary.turn(keys, positions), values, mask, turned=True, clean=True)

    def _keys_and_values(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        if value is key:
            keys, values = project(key, [self.key, self.value])
        else:
            keys, values = self.key(key), self.value(value)
        return self._split(keys, self.num_key_value_heads), self._split(values, self.num_key_value_heads)

    def remember_projected(
        self, key: Float[Tensor, "batch key inner"], value: Float[Tensor, "batch key inner"], mask: Padding | None
    ) -> Memory:
        """Hold what `key` and `value` made of a sequence that is finite where the mask forbids it."""
        heads = self.num_key_value_heads
        return Memory.of(self._split(key, heads), self._split(value, heads), mask, clean=True)

    def _rotary(self) -> Rotary | None:
        """Give the position that turns keys, if the layer has one."""
        position = self.position() if isinstance(self.position, RotaryPositions) else self.position
        return position if isinstance(position, Rotary) else None

    def forward(
        self,
        query: Float[Tensor, "batch query size"],
        memory: Memory | None = None,
        *,
        mask: Mask | Bool[Tensor, "..."] | None = None,
        bias: Float[Tensor, "..."] | None = None,
        query_positions: Int[Tensor, "... query"] | None = None,
        position: Position | None = None,
        return_weights: bool = False,
    ) -> Float[Tensor, "batch query size"] | Attended:
        """Attend to the memory, or to the queries themselves without one.

        `bias` is added to the scores: (query, key), or (batch, heads, query, key) with ones where it does not vary.
        `query_positions`, (query,) or (batch, query), says where the queries stand among the keys; by default their
        ends align. `position` replaces the layer's own for this call, where it depends on the sentence.
        """
        attended = self.contexts(
            query,
            memory,
            mask=mask,
            bias=bias,
            query_positions=query_positions,
            position=position,
            return_weights=return_weights,
        )
        if isinstance(attended, Attended):
            return Attended(self.output(attended.context), attended.weights, attended.log_normalizer)
        return self.output(attended)  # type: ignore[no-any-return]

    def contexts(
        self,
        query: Float[Tensor, "batch query size"],
        memory: Memory | None = None,
        *,
        mask: Mask | Bool[Tensor, "..."] | None = None,
        bias: Float[Tensor, "..."] | None = None,
        query_positions: Int[Tensor, "... query"] | None = None,
        position: Position | None = None,
        return_weights: bool = False,
    ) -> Float[Tensor, "batch query inner"] | Attended:
        """Do the same up to the last map: give the contexts of all heads side by side."""
        check_width("query", query, self.query.in_features)
        used, turned = self.position if position is None else position, False
        if memory is None:
            query, mask = blank_own(query, mask, narrowed=bias is not None or not _only_turns(used))
            queries, keys, values = project(query, [self.query, self.key, self.value])
            key, value = self._split(keys, self.num_key_value_heads), self._split(values, self.num_key_value_heads)
            allowed = over_heads(mask, key, query_positions)
        else:
            check_memory(memory)
            named = bias is not None or speaks_of_keys(mask) or _names_keys(used)
            if memory.write_right is not None and not return_weights and not named:
                memory = memory.trimmed()
            if query_positions is None and used is not None:
                query_positions = memory.locate(query.size(1))
            (queries,) = project(query, [self.query])
            if isinstance(memory, StaticMemory) and memory.table is not None:
                plain = mask is None and bias is None and used is None and not return_weights
                context = self._attend_by_table(queries, memory) if plain else None
                if context is not None:
                    return context
                memory = memory.gathered()
            key, value, turned = memory.key, memory.value, memory.turned
            allowed = memory.allowed(mask, query.size(1), query_positions)
        attended: Tensor | Attended = self.attend(
            self._split(queries, self.num_heads),
            key,
            value,
            score=self.score() if isinstance(self.score, LearnedScore) else self.score,
            mask=allowed,
            bias=bias,
            position=_position_at(used, query_positions, turned=turned),
            grouped=self.num_key_value_heads != self.num_heads,
            return_weights=return_weights,
        )
        if isinstance(attended, Attended):
            return Attended(self._join(attended.context), attended.weights, attended.log_normalizer)
        return self._join(attended)

    def _attend_by_table(self, queries: Tensor, memory: StaticMemory) -> Tensor | None:
        """Attend to keys and values where they lie; None where they must be gathered first."""
        grouped = self.num_key_value_heads != self.num_heads
        if grouped or type(self.score) is not ScaledDot or self.score.scale is not None:
            return None
        assert memory.mask is not None
        assert memory.table is not None
        split = self._split(queries, self.num_heads)
        context = self.attend.by_table(split, memory.key, memory.value, memory.mask, memory.table)
        return None if context is None else self._join(context)

    def _split(self, features: Tensor, heads: int) -> Tensor:
        parts: Tensor = features.unflatten(-1, (heads, self.head_size))
        return parts.transpose(1, 2)  # batch heads length head_size

    def _join(self, context: Tensor) -> Tensor:
        return context.transpose(1, 2).flatten(-2)

    @classmethod
    def from_torch(cls, module: nn.MultiheadAttention) -> "MultiHeadAttention":
        """Copy a torch layer, parameters and all. Ours is batch first, whichever way the original was.

        Masks change meaning on the way: `from_torch_mha` turns them.

        >>> import torch
        >>> theirs = nn.MultiheadAttention(8, 2, batch_first=True)
        >>> ours, x = MultiHeadAttention.from_torch(theirs), torch.ones(1, 3, 8)
        >>> torch.allclose(ours(x), theirs(x, x, x)[0], atol=1e-6)
        True
        """
        read = read_torch_mha(module)
        layer = cls(
            module.embed_dim,
            module.num_heads,
            key_size=module.kdim,
            value_size=module.vdim,
            bias=module.in_proj_bias is not None,
            dropout=module.dropout,
        )
        layer.to(module.out_proj.weight)
        layer.load_state_dict(read)
        return layer.train(module.training)

    def to_torch(self, *, batch_first: bool = True) -> nn.MultiheadAttention:
        """Copy into a torch layer, which has the scaled dot product, softmax and no positions only.

        Shared key-value heads are repeated; where one map has a bias, the others get one of zero.
        """
        _check_plain(self)
        module = nn.MultiheadAttention(
            self.query.in_features,
            self.num_heads,
            dropout=self.attend.dropout,
            bias=any(linear.bias is not None for linear in (self.query, self.key, self.value, self.output)),
            kdim=self.key.in_features,
            vdim=self.value.in_features,
            batch_first=batch_first,
        )
        write_torch_mha(module.to(self.query.weight), self.state_dict(), self.head_size)
        return module.train(self.training)

    def extra_repr(self) -> str:
        """Show the heads."""
        shared = f", num_key_value_heads={self.num_key_value_heads}" * (self.num_key_value_heads != self.num_heads)
        score = "" if isinstance(self.score, nn.Module) else f", score={self.score}"
        return f"num_heads={self.num_heads}{shared}{score}"


def _only_turns(position: Position | nn.Module | None) -> bool:
    """Return whether a position forbids no key."""
    return position is None or isinstance(position, (Rotary, RotaryPositions))


def _names_keys(position: Position | nn.Module | None) -> bool:
    return isinstance(position, Position) and position.key_positions is not None


def _position_at(
    position: Position | nn.Module | None, query_positions: Tensor | None, *, turned: bool
) -> Position | None:
    """Give the position for queries that stand at `query_positions`, and for keys that may be turned already."""
    made: Position | None
    if isinstance(position, nn.Module):
        made = position(query_positions=query_positions)
    elif position is None or query_positions is None:
        made = position
    else:
        made = replace(position, query_positions=query_positions)
    if not turned:
        return made
    if not isinstance(made, Rotary):
        raise ArgumentError(
            f"`position` must be Rotary for a memory whose keys have been turned; received {made}. Remember them "
            "without `positions`."
        )
    return replace(made, turned=True)


def _biased(bias: bool | Collection[str]) -> Collection[str]:
    """Name the maps that have a bias."""
    if isinstance(bias, bool):
        return MAPS if bias else ()
    unknown = [name for name in bias if name not in MAPS]
    if isinstance(bias, str) or unknown:
        named = bias if isinstance(bias, str) else unknown[0]
        raise ArgumentError(
            f'`bias` must be True, False or some of {", ".join(MAPS)}; received "{named}". Write bias=("query", "key").'
        )
    return bias


def _check_divides(name: str, number: int, of_name: str, of: int) -> None:
    check_count(name, number)
    if number < 1 or of % number:
        divisors = [str(n) for n in range(1, min(of, 4096) + 1) if of % n == 0]
        raise ArgumentError(
            f"`{name}` must divide `{of_name}`, {of}; received {number}. Choose one of {', '.join(divisors)}."
        )


def _check_plain(layer: MultiHeadAttention) -> None:
    result = {
        f"score {layer.score}": not (isinstance(layer.score, ScaledDot) and layer.score.scale is None),
        f"normalizer {layer.attend.normalize}": layer.attend.normalize != SOFTMAX,
        f"position {layer.position}": layer.position is not None,
        f"heads of width {layer.head_size}": layer.head_size * layer.num_heads != layer.query.in_features,
    }
    for name, present in result.items():
        if present:
            raise ArgumentError(
                f"the layer must use ScaledDot(), Softmax(), no position and heads of size // num_heads to become "
                f"nn.MultiheadAttention; received {name}."
            )
