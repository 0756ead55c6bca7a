"""The progress of training on pictures."""

from regard.cli.label_progress import LabelProgress
from regard.training.watch import Validated


class PictureProgress(LabelProgress):
    """Shows questions or words, and the share that is right, of each kind where there are several."""

    def describe_validation(self, validated: Validated) -> str:
        """Write the figures of a validation on one line."""
        shares = {name: value for name, value in validated.figures.items() if name != "bleu"}
        figures = "  ".join(f"{name} {100 * value:.1f} %" for name, value in shares.items())
        bleu = f"  BLEU {validated.figures['bleu']:.2f}" if "bleu" in validated.figures else ""
        return f"valid loss {validated.loss:.3f}  {figures}{bleu}"
