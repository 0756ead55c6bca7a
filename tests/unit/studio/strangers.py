"""Small random models of Hugging Face in folders of their own: BERT, GPT-2, BART and ViT."""

from pathlib import Path

import torch

from unit.inspection.hugging_face_models import make_model, make_tokenizer

TEXT = "the cat sat on a mat"


def make_strangers(root: Path) -> dict[str, Path]:
    """Write a folder of each kind, as `save_pretrained` does."""
    made = {}
    for name in ("bert", "gpt2", "bart"):
        made[name] = root / name
        make_model(name).save_pretrained(made[name])
        make_tokenizer().save_pretrained(made[name])
    made["vit"] = make_vision(root / "vit")
    return made


def make_vision(folder: Path) -> Path:
    """Write a ViT of two layers over pictures of 32 × 32 pixels in patches of 8."""
    from transformers import ViTConfig, ViTForImageClassification, ViTImageProcessor

    torch.manual_seed(2)
    config = ViTConfig(
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=16,
        image_size=32,
        patch_size=8,
        id2label={0: "circle", 1: "square", 2: "<b>"},
        label2id={"circle": 0, "square": 1, "<b>": 2},
        initializer_range=0.6,
    )
    ViTForImageClassification(config).save_pretrained(folder)
    ViTImageProcessor(size={"height": 32, "width": 32}).save_pretrained(folder)
    return folder
