"""How to train, as far as all tasks do it alike: plain values, with their help under each field."""

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from regard.config.checks import check_above, check_choices, check_least, check_shares
from regard.config.data_files import FileName
from regard.errors import ArgumentError


@dataclass(frozen=True, kw_only=True)
class _WarmUp:
    rate: float = 1e-3
    """The highest learning rate, reached at the end of the warm-up."""
    warm_up: int = 0
    """Steps over which the rate rises from zero."""

    def __post_init__(self) -> None:
        check_above(self, 0, "rate")
        check_least(self, 0, "warm_up")


@dataclass(frozen=True, kw_only=True)
class Constant(_WarmUp):
    """The same rate from the warm-up to the end."""

    kind: Literal["constant"] = "constant"


@dataclass(frozen=True, kw_only=True)
class InverseSquareRoot(_WarmUp):
    """Fall with the root of the steps: half the rate after four times the warm-up."""

    kind: Literal["inverse-square-root"] = "inverse-square-root"


@dataclass(frozen=True, kw_only=True)
class Cosine(_WarmUp):
    """Fall along half a cosine, to `final` at the last step."""

    kind: Literal["cosine"] = "cosine"
    final: float = 0.0
    """Share of the rate that is left at the last step."""


@dataclass(frozen=True, kw_only=True)
class Linear(_WarmUp):
    """Fall in a straight line, to `final` at the last step."""

    kind: Literal["linear"] = "linear"
    final: float = 0.0
    """Share of the rate that is left at the last step."""


@dataclass(frozen=True, kw_only=True)
class Plateau(_WarmUp):
    """Fall by `factor` whenever `patience` validations in a row have not improved."""

    kind: Literal["plateau"] = "plateau"
    factor: float = 0.5
    """What the rate is multiplied by."""
    patience: int = 2
    """Validations without an improvement before it is."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.factor < 1:
            raise ArgumentError(f"`factor` must be between 0 and 1; received {self.factor:g}.")
        check_least(self, 1, "patience")


Schedule: TypeAlias = InverseSquareRoot | Cosine | Linear | Plateau | Constant
Precision: TypeAlias = Literal["auto", "fp32", "tf32", "bf16"]
Result: TypeAlias = Literal["best", "last", "average"]


@dataclass(frozen=True, kw_only=True)
class Train:
    """How long, how fast, and what to keep."""

    steps: int = 10_000
    """Updates of the parameters, at most."""
    minutes: float = 0.0
    """Minutes to train, validations included, at most; 0 is no limit. The schedule follows whichever of the two limits
    comes first; its warm-up counts steps, for a quarter of the minutes at most. A run that goes on counts the minutes
    it has spent."""
    start: FileName = ""
    """A model or run folder whose parameters and tokenizers a new run starts from (--from); nothing starts anew."""
    accumulate: int = 1
    """Batches whose gradients are summed before an update."""
    seed: int = 1
    """Fixes the first parameters, the order of the data and the dropout."""
    weight_decay: float = 0.01
    """AdamW's decay, of matrices alone."""
    beta1: float = 0.9
    """AdamW's memory of the gradient."""
    beta2: float = 0.98
    """AdamW's memory of its square."""
    clip: float = 1.0
    """Longest gradient, as a norm over all parameters; 0 leaves it as it is."""
    label_smoothing: float = 0.1
    """Probability taken from the right token and spread over all."""
    precision: Precision = "auto"
    """auto is bf16 on a GPU that computes in it, fp32 elsewhere; tf32, quicker matrix products on a GPU; bf16, half the
    memory."""
    ema: float = 0.0
    """Decay of an exponential moving average of the parameters, such as 0.999, used instead of them; 0 is none."""
    result: Result = "best"
    """Which parameters make the model: those of the best validation, of the last step, or a mean of checkpoints."""
    average: int = 5
    """How many of the last checkpoints `result = "average"` takes the mean of."""
    metric: str = "loss"
    """What the best validation is measured by."""
    patience: int = 0
    """Validations in a row without an improvement after which training stops; 0 is never."""
    validate_every: int = 500
    """Steps between validations; each saves a checkpoint too."""
    checkpoint_every: int = 500
    """Steps between checkpoints."""
    keep_checkpoints: int = 2
    """How many of the last checkpoints stay; the best stays besides."""
    log_every: int = 50
    """Steps between lines of metrics.jsonl."""
    device: str = "auto"
    """cpu, cuda or auto, the first GPU where there is one."""
    shard: bool = False
    """Divide parameters, gradients and AdamW's memory over the processes (FSDP2), where copies would not fit (DDP)."""
    graphs: bool = True
    """On a GPU, capture whole steps as CUDA graphs, which spares thousands of launches."""
    threads: int = 0
    """CPU threads; 0 leaves it to torch. A resumed run keeps the number it began with."""
    tensorboard: bool = False
    """Write TensorBoard's events beside metrics.jsonl (pip install 'regard[tensorboard]')."""
    schedule: Schedule = field(default_factory=InverseSquareRoot)
    """How the learning rate goes."""

    def __post_init__(self) -> None:
        check_choices(self)
        check_least(self, 1, "steps", "accumulate", "average", "validate_every", "checkpoint_every")
        check_least(self, 1, "keep_checkpoints", "log_every")
        check_least(self, 0, "seed", "weight_decay", "clip", "patience", "threads", "minutes")
        check_shares(self, "beta1", "beta2", "label_smoothing", "ema")

    @property
    def half_batch(self) -> str:
        """The setting that makes batches half as large, where there is one."""
        return ""


@dataclass(frozen=True, kw_only=True)
class TokenTrain(Train):
    """The same, with batches of so many tokens."""

    batch_tokens: int = 4096
    """Tokens of the longer side, padding included, that one process takes at once."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_least(self, 1, "batch_tokens")

    @property
    def half_batch(self) -> str:
        """The setting that makes batches half as large."""
        return f"train.batch_tokens = {self.batch_tokens // 2}"


@dataclass(frozen=True, kw_only=True)
class PictureTrain(Train):
    """The same, with batches of so many pictures."""

    batch_size: int = 64
    """Pictures that one process takes at once."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_least(self, 1, "batch_size")

    @property
    def half_batch(self) -> str:
        """The setting that makes batches half as large."""
        return f"train.batch_size = {self.batch_size // 2}"
