"""The two models of `joeynmt.py` as each system calls them: the same sizes, dropout, batches and AdamW in both."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

Found = dict[str, Any]

#: Updates before a model translates.
FITTED = 800


@dataclass(frozen=True, kw_only=True)
class Case:
    """One model, as both systems call it, and how long to measure it."""

    name: str
    title: str
    sizes: str
    """In words, for the report."""
    dropout: str
    """In words, for the report."""
    batch_tokens: int
    updates: int
    """Updates timed in each round."""
    betas: tuple[float, float]
    clip: float
    rate: float
    warm_up: int
    joey: Found
    regard: Found


def _gru() -> Case:
    side = {"type": "recurrent", "rnn_type": "gru", "hidden_size": 256, "dropout": 0.3, "num_layers": 1}
    side["embeddings"] = {"embedding_dim": 256, "scale": False, "dropout": 0.3}
    decoder = {"input_feeding": True, "init_hidden": "bridge", "attention": "bahdanau", "hidden_dropout": 0.3}
    return Case(
        name="gru",
        title="GRU with additive attention",
        sizes="embeddings 256, one table for both sides; encoder 2 × 256, decoder 256 fed its output, attention 256",
        dropout="0.3 of embeddings; in Joey NMT also of what is fed and of [state; context], in regard of memory and "
        "of what the output reads",
        batch_tokens=2048,
        updates=12,
        betas=(0.9, 0.999),
        clip=1.0,
        rate=0.001,
        warm_up=500,
        joey={
            "embed_initializer": "normal",
            "embed_init_weight": 0.1,
            "init_rnn_orthogonal": True,
            "tied_softmax": False,
            "encoder": {**side, "bidirectional": True},
            "decoder": {**side, **decoder},
        },
        regard={
            "kind": "recurrent",
            "cell": "gru",
            "direction": "both",
            "embedding_size": 256,
            "hidden_size": 256,
            "encoder_size": 256,
            "attention": {"kind": "additive", "hidden_size": 256},
            "wiring": "current",
            "input_feeding": True,
            "output": "attentional",
            "tie": "embeddings",
            "dropout": 0.3,
        },
    )


def _transformer() -> Case:
    side = {"type": "transformer", "num_layers": 4, "num_heads": 4, "hidden_size": 128, "ff_size": 256}
    side |= {"dropout": 0.3, "layer_norm": "post", "embeddings": {"embedding_dim": 128, "scale": True}}
    return Case(
        name="transformer",
        title="Transformer, 4 × 128",
        sizes="4 + 4 blocks of 128, 4 heads, feed-forward 256, post-norm; one table for both sides and the output",
        dropout="0.3 of embeddings, sublayers, attention weights and hidden layers",
        batch_tokens=4096,
        updates=8,
        betas=(0.9, 0.98),
        clip=0.0,
        rate=0.005,
        warm_up=2000,
        joey={"embed_initializer": "xavier_uniform", "tied_softmax": True, "encoder": side, "decoder": side},
        regard={
            "kind": "transformer",
            "size": 128,
            "num_encoder_layers": 4,
            "num_decoder_layers": 4,
            "num_heads": 4,
            "feed_forward_size": 256,
            "norm": "post",
            "tie": "all",
            "dropout": 0.3,
            "feed_forward_dropout": 0.3,
            "attention_dropout": 0.3,
        },
    )


CASES = (_gru(), _transformer())


def joey_settings(case: Case, work: Path, device: str = "cpu") -> Found:
    """Give what Joey NMT reads from YAML, of which JSON is a part. Its own BPE is not needed: the text is in pieces."""
    side = {"level": "word", "lowercase": False, "max_length": 100, "voc_file": str(work / "vocabulary.txt")}
    training = {
        "optimizer": "adamw",
        "adam_betas": list(case.betas),
        "learning_rate": case.rate,
        "learning_rate_min": 0.0,
        "scheduling": "warmupinversesquareroot",
        "learning_rate_warmup": case.warm_up,
        "label_smoothing": 0.1,
        "batch_size": case.batch_tokens,
        "batch_type": "token",
        "normalization": "tokens",
        "shuffle": True,
        "epochs": 100,
        "logging_freq": 50,
        "validation_freq": 1_000_000,
        "early_stopping_metric": "bleu",
    }
    return {
        "name": case.name,
        "joeynmt_version": "2.3.0",
        "model_dir": str(work / f"joey-{case.name}"),
        "use_cuda": device == "cuda",
        "fp16": False,
        "data": {
            "train": str(work / "train"),
            "dev": str(work / "valid"),
            "test": str(work / "test2016"),
            "dataset_type": "plain",
            "src": {"lang": "en", **side},
            "trg": {"lang": "de", **side},
        },
        "testing": {"n_best": 1, "beam_alpha": 1.0, "max_output_length": 100, "batch_type": "sentence"},
        "training": training | ({"clip_grad_norm": case.clip} if case.clip else {}),
        "model": {
            "initializer": "xavier_uniform",
            "bias_initializer": "zeros",
            "tied_embeddings": True,
            **case.joey,
        },
    }


def regard_settings(case: Case) -> Found:
    """Give what regard reads as its settings."""
    never = 1_000_000
    return {
        "model": case.regard,
        "train": {
            "steps": never,
            "batch_tokens": case.batch_tokens,
            "beta1": case.betas[0],
            "beta2": case.betas[1],
            "weight_decay": 0.0,
            "clip": case.clip,
            "label_smoothing": 0.1,
            "precision": "fp32",
            "device": "cpu",
            "threads": 1,
            "validate_every": never,
            "checkpoint_every": never,
            "log_every": 50,
            "schedule": {"kind": "inverse-square-root", "rate": case.rate, "warm_up": case.warm_up},
        },
    }
