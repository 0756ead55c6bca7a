"""The progress of training a classifier."""

from regard.cli.progress import Progress
from regard.training.watch import Measured, Validated


class LabelProgress(Progress):
    """Shows texts, or images, and accuracy where training a translator shows tokens and BLEU."""

    def __init__(self, *, quiet: bool = False, unit: str = "texts") -> None:
        super().__init__(quiet=quiet)
        self._unit = unit

    def describe_training(self, measured: Measured) -> str:
        """Write the figures of training on one line."""
        return f"loss {measured.loss:.3f}  {measured.tokens_per_second:,.0f} {self._unit}/s"

    def describe_validation(self, validated: Validated) -> str:
        """Write the figures of a validation on one line."""
        accuracy, f1 = (100 * validated.figures[name] for name in ("accuracy", "macro_f1"))
        return f"valid loss {validated.loss:.3f}  accuracy {accuracy:.2f} %  macro-F1 {f1:.2f}"
