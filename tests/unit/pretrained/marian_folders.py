"""Marian folders as `transformers` writes them, with random parameters and small SentencePiece models."""

import json
from functools import cache

import sentencepiece
import torch
from transformers import MarianConfig, MarianMTModel

SENTENCES = {
    "source": ["el gato negro duerme en la casa de Juan", "¿dónde está el libro?", "la niña come pan, y bebe agua."],
    "target": ["the black cat sleeps in the house of John", "where is the book?", "the girl eats bread, and drinks"],
}
CODE = ">>fra<<"


@cache
def trained(side):
    """Train a small unigram model; the same bytes each time."""
    import io

    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(SENTENCES[side] * 20),
        model_writer=model,
        vocab_size=60,
        hard_vocab_limit=False,
        model_type="unigram",
        num_threads=1,
        minloglevel=2,
    )
    return model.getvalue()


def processor(side):
    return sentencepiece.SentencePieceProcessor(model_proto=trained(side))


def pieces(*sides):
    names = ["</s>", "<unk>", CODE]
    for side in sides:
        model = processor(side)
        every = [model.id_to_piece(number) for number in range(model.get_piece_size())]
        names += [name for name in every if name not in names and name not in ("<s>", "</s>", "<unk>")]
    return names


def make_marian(folder, *, separate=False, lacking=(), **settings):
    """Write a folder and give the model of `transformers`; `lacking` are pieces that vocab.json does not have."""
    folder.mkdir(parents=True, exist_ok=True)
    joint = pieces("source", "target")
    vocabularies = [pieces("source"), pieces("target")] if separate else [joint, joint]
    longest = max(map(len, vocabularies))
    tables = []
    for names in vocabularies:
        kept = [name for name in names if name not in lacking]
        kept += [f"▁filler{number}" for number in range(longest - len(kept))]
        tables.append({name: number for number, name in enumerate([*kept, "<pad>"])})
    size = longest + 1
    (folder / "vocab.json").write_text(json.dumps(tables[0]), encoding="utf-8")
    if separate:
        (folder / "target_vocab.json").write_text(json.dumps(tables[1]), encoding="utf-8")
    for side in ("source", "target"):
        (folder / f"{side}.spm").write_bytes(trained(side))
    chosen = {
        "activation_function": "swish",
        "scale_embedding": True,
        "share_encoder_decoder_embeddings": not separate,
        "tie_word_embeddings": True,
        **settings,
    }
    config = MarianConfig(
        vocab_size=size,
        decoder_vocab_size=size,
        d_model=16,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=24,
        decoder_ffn_dim=24,
        pad_token_id=size - 1,
        eos_token_id=0,
        decoder_start_token_id=size - 1,
        forced_eos_token_id=None,
        init_std=0.3,
        **chosen,
    )
    with torch.random.fork_rng():
        torch.manual_seed(5)
        model = MarianMTModel(config).eval()
        model.final_logits_bias.normal_()
    model.save_pretrained(folder)
    model.generation_config.bad_words_ids = [[size - 1]]
    return model
