"""Translate without torch: numpy, onnxruntime and tokenizers over what `regard export --to onnx` writes.

    regard export runs/a --to onnx --out exports/a
    python examples/21_onnx_without_torch.py exports/a "¿Dónde está el libro?"

Without a folder it first trains a small model and exports it, for which regard is needed.
"""

# %% Neither torch nor regard.
import argparse
import json
import tempfile
from pathlib import Path

import numpy as np
import onnxruntime
import tokenizers


def run(session: onnxruntime.InferenceSession, feed: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Run a graph on the inputs it has, and give its outputs by name."""
    wanted = {item.name: feed[item.name] for item in session.get_inputs()}
    return dict(zip((item.name for item in session.get_outputs()), session.run(None, wanted), strict=True))


# %% encoder.onnx reads a sentence; step.onnx gives the log-probabilities of the next word, and the next state.
class OnnxTranslator:
    """Greedy search over two graphs."""

    def __init__(self, folder: Path) -> None:
        sides = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
        sides = sides if sides.keys() == {"source", "target"} else {"source": sides, "target": sides}
        source, target = (tokenizers.Tokenizer.from_str(json.dumps(sides[side])) for side in ("source", "target"))
        self.source, self.target = source, target
        self.about = json.loads((folder / "onnx.json").read_text(encoding="utf-8"))
        sessions = [onnxruntime.InferenceSession(folder / f"{name}.onnx") for name in ("encoder", "step")]
        self.encoder, self.step = sessions

    def translate(self, text: str, longest: int = 100) -> tuple[list[str], list[str], np.ndarray]:
        """Give the tokens of the sentence, those of its translation, and the weights between: (target, source)."""
        encoded, end = self.source.encode(text), self.about["end"]
        ids = [*encoded.ids, end]
        known = run(self.encoder, {"source": np.array([ids]), "lengths": np.array([len(ids)])})
        token, output, weights = np.array([self.about["start"]]), [], []
        while len(output) < longest:
            result = run(self.step, {"token": token, **known})
            known.update({name: result[f"next_{name}"] for name in self.about["state"]})
            token = result["log_probabilities"].argmax(-1)
            if token[0] == end:
                break
            output.append(self.target.id_to_token(int(token[0])))
            if self.about["attends"]:  # (batch, layers, heads, source): here the mean over layers and heads
                weights.append(result["weights"][0].mean(axis=(0, 1)))
        return [*encoded.tokens, "</s>"], output, np.array(weights)


# %% A model to begin with, where none is named.
def export_small_model(folder: Path) -> Path:
    """Train a small recurrent model with attention on sentences of a grammar, and write it as ONNX."""
    import regard
    from regard.export.folder import export

    settings = {"data.size": 2000, "model.hidden_size": 64, "model.embedding_size": 64, "train.samples": 0}
    settings |= {"train.validate_every": 400, "train.valid_sentences": 20}
    made = regard.train(
        "translate", preset="bahdanau", data="builtin:es-en", out=folder / "run", steps=400, settings=settings
    )
    result = export(made, folder / "onnx", to="onnx")
    print(f"onnxruntime agrees with torch to {result.difference:.1e}")
    return result.folder


# %% Save what the words attend to.
def draw(folder: Path, source: list[str], target: list[str], weights: np.ndarray) -> None:
    """Draw the weights; this alone needs matplotlib."""
    from matplotlib.figure import Figure

    folder.mkdir(parents=True, exist_ok=True)
    figure = Figure(figsize=(6, 5), layout="constrained")
    axes = figure.add_subplot()
    axes.imshow(weights, cmap="viridis", vmin=0)
    axes.set_xticks(range(len(source)), source, rotation=60)
    axes.set_yticks(range(len(target)), target)
    figure.savefig(folder / "21_onnx_without_torch.png")
    print(f"wrote {folder / '21_onnx_without_torch.png'}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, nargs="?", help="what regard export --to onnx wrote")
    parser.add_argument("texts", nargs="*", default=["El gato duerme en la casa.", "¿Dónde está el libro?"])
    parser.add_argument("--out", type=Path, help="folder for the picture; without a model runs/examples")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        translator = OnnxTranslator(options.model or export_small_model(Path(made)))
        for text in options.texts:
            source, target, weights = translator.translate(text)
            print(text, "→", " ".join(target).replace(" ▁", " ").replace("▁", ""))
            for word, row in zip(target, weights, strict=False):
                print(f"  {word} ← {source[int(row.argmax())]} {row.max():.2f}")
    if options.out or not options.model:
        draw(options.out or Path("runs/examples"), source, target, weights)


if __name__ == "__main__":
    main()
