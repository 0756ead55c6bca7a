"""Small Hugging Face models with random parameters, and a tokenizer for them: nothing is downloaded."""

import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, processors

WORDS = (
    "[PAD]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "[UNK]",
    "the",
    "cat",
    "sat",
    "on",
    "a",
    "mat",
    "and",
    "dog",
    "ran",
    "<b>",
)
PAD, START, END, MASK = range(4)
SIZE = len(WORDS)
LAYERS = {"num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 16, "intermediate_size": 32}
SIDES = {
    f"{side}_{name}": size
    for side in ("encoder", "decoder")
    for name, size in {"layers": 2, "attention_heads": 4, "ffn_dim": 32}.items()
}
SPECIAL = {"pad_token_id": PAD, "bos_token_id": START, "eos_token_id": END}
DECODERS = ("gpt2", "llama", "gemma2", "gpt_oss")
#: Models, by their class and the settings that make them small.
KINDS = {
    "bert": ("Bert", "ForMaskedLM", LAYERS | {"max_position_embeddings": 16}),
    "gpt2": ("GPT2", "LMHeadModel", {"n_positions": 16, "n_embd": 16, "n_layer": 2, "n_head": 4}),
    "llama": ("Llama", "ForCausalLM", LAYERS | {"num_key_value_heads": 2}),
    "t5": ("T5", "ForConditionalGeneration", {"d_model": 16, "d_kv": 4, "d_ff": 32, "num_layers": 2, "num_heads": 4}),
    "bart": ("Bart", "ForConditionalGeneration", {"d_model": 16, "max_position_embeddings": 16, **SIDES}),
    "gemma2": (
        "Gemma2",
        "ForCausalLM",
        LAYERS
        | {"num_key_value_heads": 2, "head_dim": 4, "query_pre_attn_scalar": 4, "sliding_window": 3}
        | {"attn_logit_softcapping": 0.5},
    ),
    "gpt_oss": (
        "GptOss",
        "ForCausalLM",
        LAYERS
        | {"num_key_value_heads": 2, "head_dim": 4, "sliding_window": 3}
        | {"num_local_experts": 2, "num_experts_per_tok": 1},
    ),
}


def make_model(name, implementation="sdpa", **changes):
    """Build one in evaluation mode, the same every time, with parameters large enough for weights to differ."""
    family, head, sizes = KINDS[name]
    settings = {"vocab_size": SIZE} | SPECIAL | sizes | changes
    if head == "ForConditionalGeneration":
        settings |= {"decoder_start_token_id": END, "forced_bos_token_id": None, "forced_eos_token_id": None}
    config = getattr(transformers, f"{family}Config")(**settings)
    kind = getattr(transformers, f"{family}{head}")
    with torch.random.fork_rng():
        torch.manual_seed(1)
        model = kind._from_config(config, attn_implementation=implementation).eval()
        for parameter in model.parameters():
            parameter.data.add_(0.3 * torch.randn_like(parameter))
    return model


def make_tokenizer():
    """Make a tokenizer of words, which puts [CLS] before a text and [SEP] behind it."""
    inner = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    inner.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", START), ("[SEP]", END)]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="[PAD]", mask_token="[MASK]", unk_token="[UNK]", eos_token="[SEP]"
    )


def make_batch(name):
    """Give two texts, the second with two places of padding: before it for decoders, else behind."""
    draw = torch.Generator().manual_seed(2)
    mask = torch.ones(2, 6, dtype=torch.long)
    mask[1, slice(0, 2) if name in DECODERS else slice(4, 6)] = 0
    batch = {"input_ids": torch.randint(5, SIZE, (2, 6), generator=draw), "attention_mask": mask}
    if name in ("t5", "bart"):
        batch["decoder_input_ids"] = torch.randint(5, SIZE, (2, 5), generator=draw)
    return batch
