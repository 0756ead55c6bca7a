"""How the training of a classifier looks while it goes."""

import time

from regard.cli.progress import Progress
from regard.training.watch import Measured, Validated


class LabelProgress(Progress):
    """Shows texts, or images, and accuracy where training a translator shows tokens and BLEU."""

    def __init__(self, *, quiet: bool = False, unit: str = "texts") -> None:
        super().__init__(quiet=quiet)
        self._unit = unit

    def measured(self, measured: Measured) -> None:
        """Show the figures of training."""
        line = f"loss {measured.loss:.3f}  {measured.tokens_per_second:,.0f} {self._unit}/s"
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, description=line)
        elif time.monotonic() - self._last_line > 10.0 or measured.step == self._steps:
            self._last_line = time.monotonic()
            self.say(f"step {measured.step:,}/{self._steps:,}  {line}  {self._left(measured.step)} left")

    def validated(self, validated: Validated, *, best: bool) -> None:
        """Show the figures of a validation."""
        accuracy, f1 = (100 * validated.figures[name] for name in ("accuracy", "macro_f1"))
        self.say(
            f"step {validated.step:,}: valid loss {validated.loss:.3f}  accuracy {accuracy:.2f} %  macro-F1 {f1:.2f}"
            f"{'  (best)' if best else ''}"
        )
