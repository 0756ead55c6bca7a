"""Hugging Face models: where BART looks, recorded beside its fused kernel. Nothing is downloaded."""

# %% A small BART and a tokenizer of whole words; real ones come from `from_pretrained`.
import argparse
import time
from pathlib import Path

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from tokenizers.processors import TemplateProcessing
from transformers import BartConfig, BartForConditionalGeneration, PreTrainedTokenizerFast

import regard
from regard.inspection import intervene, record
from regard.inspection.drawing.figures import color_bar, draw_heatmap
from regard.inspection.drawing.panels import panels

torch.manual_seed(0)
pad, start, end, unknown = range(4)
words = [
    "<pad>",
    "<s>",
    "</s>",
    "<unk>",
    "red",
    "blue",
    "black",
    "white",
    "one",
    "two",
    "three",
    "cats",
    "dogs",
    "birds",
]
inner = Tokenizer(models.WordLevel({word: number for number, word in enumerate(words)}, unk_token="<unk>"))
inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
inner.post_processor = TemplateProcessing(single="$A </s>", special_tokens=[("</s>", end)])
tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="<pad>", eos_token="</s>", unk_token="<unk>")
sizes = {"layers": 1, "attention_heads": 2, "ffn_dim": 64}
model = BartForConditionalGeneration(
    BartConfig(
        vocab_size=len(words),
        d_model=32,
        max_position_embeddings=16,
        dropout=0.0,
        pad_token_id=pad,
        bos_token_id=start,
        eos_token_id=end,
        decoder_start_token_id=end,
        forced_eos_token_id=None,
        **{f"{side}_{name}": size for side in ("encoder", "decoder") for name, size in sizes.items()},
    )
)
model.generation_config.max_new_tokens = 8


# %% Teach it to say six words backwards.
def batch(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Sentences of random words, and the same backwards, each with `</s>`."""
    chosen, last = torch.randint(unknown + 1, len(words), (count, 6)), torch.full((count, 1), end)
    return torch.cat([chosen, last], dim=1), torch.cat([chosen.flip(1), last], dim=1)


optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
began = time.perf_counter()
for _ in range(220):
    source, target = batch(64)
    loss = model(input_ids=source, labels=target).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
model.eval()
print(f"{time.perf_counter() - began:.0f} s of training, loss {loss:.3f}")

# %% One call: tokens, what the model says, and every layer and head, as one trace.
text = "two black cats three white birds"
found = regard.inspect(model, tokenizer, text)
print(f"{found.text} → {found.target}")
print(found.trace)
print("\n".join(found.matrix()))

# %% Recording changes nothing: the model gives the fused kernel's numbers, bit for bit.
given = tokenizer(text, return_tensors="pt", return_token_type_ids=False)
said = torch.tensor([tokenizer.convert_tokens_to_ids(list(found.target_tokens))])
with torch.no_grad():
    plain = model(**given, labels=said)
    with record(model) as trace:
        watched = model(**given, labels=said)
    assert torch.equal(plain.logits, watched.logits)

    # What would it say if its decoder looked at the words in their own order?
    crossing = "model.decoder.layers.0.encoder_attn"
    with intervene(model, weights={crossing: torch.eye(7)}):
        forced = model(**given, labels=said)
print(f"chance of the first word: {found.target_probabilities[0]:.3f}, ", end="")
print(f"looking straight ahead: {forced.logits[0, 0].softmax(-1)[said[0, 0]]:.3f}")

# %% Draw both heads, and their mean.
figure, axes = panels(1, 3, size=(3.4, 3.2), titles=["head 0", "head 1", "mean"], title=f"BART: {crossing}")
for each, head in zip(axes, (0, 1, None), strict=True):
    shown = found.map(crossing, head=head)
    mesh = draw_heatmap(each, shown.values, query_labels=shown.labels[0], key_labels=shown.labels[1], numbers=False)
color_bar(mesh, axes)

# %% Save
parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--out", type=Path, default=Path("runs/examples"), help="folder for the picture")
folder = parser.parse_known_args()[0].out
folder.mkdir(parents=True, exist_ok=True)
figure.savefig(folder / "16_hugging_face.png")
print(f"wrote {folder / '16_hugging_face.png'}")
