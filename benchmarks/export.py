"""One trained Transformer in three engines: quality, agreement and speed of regard, CTranslate2 and transformers.

    regard train --preset transformer-tiny --data builtin:es-en --out runs/t --set model.norm=post \\
        --set model.position=sinusoidal-halves
    OMP_NUM_THREADS=1 python benchmarks/export.py runs/t [--rounds 3] [--beam 5] [--sentences 2000]

All translate sentences that the grammar draws for testing, from text to text, with the same parameters and one thread;
`transformers` runs them as a MarianMTModel, which is why the norm is behind each sublayer and all sines come before all
cosines. Processor time, which other programs on the machine disturb least; best of the rounds. Loading is not counted.
"Same links": the share of word links that both have, 2 |A ∩ B| / (|A| + |B|), over the sentences with the same text.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import torch

import regard
from regard.data.corpora.pair import Link
from regard.data.text.special import END, PAD, START
from regard.decoding.search import Search
from regard.evaluation.bleu import score
from regard.export.ctranslate2_engine import load_ctranslate2
from regard.export.folder import export
from regard.models.folder import saved_tensors
from regard.pretrained.marian import marian_name
from regard.tasks.evaluation.held_out import Choice, find_held_out
from regard.tasks.translation.model import Translator

BATCH = 64


class Row(NamedTuple):
    """One engine."""

    name: str
    translate: Callable[[Sequence[str]], list[str]]
    links: Callable[[Sequence[str]], list[tuple[Link, ...]]] | None
    megabytes: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--sentences", type=int, default=2000)
    options = parser.parse_args()
    torch.set_num_threads(1)
    translator = regard.load(options.run)
    held_out = find_held_out(Choice(corpus="builtin:es-en", split="test", size=options.sentences))
    search = Search(beam=options.beam)
    with tempfile.TemporaryDirectory() as folder:
        rows = list(make_rows(translator, Path(folder), search))
        report(rows, held_out.sources, held_out.references, options.rounds)


def make_rows(translator: Translator, folder: Path, search: Search):
    """Give each engine, ours first."""

    def of(engine, name: str, megabytes: float) -> Row:
        return Row(
            name,
            lambda texts: [outputs[0].text for outputs in engine.search(texts, search)],
            lambda texts: [outputs[0].links for outputs in engine.search(texts, search, weights=True)],
            megabytes,
        )

    parameters = sum(tensor.numel() for tensor in saved_tensors(translator.network).values())
    yield of(translator, "regard", 4e-6 * parameters)
    yield Row("transformers", marian(translator, search.beam), None, 4e-6 * parameters)
    for precision in ("float32", "float16", "int8"):
        made = export(translator, folder / precision, to="ctranslate2", precision=precision)
        size = (made.folder / "model.bin").stat().st_size / 1e6
        yield of(load_ctranslate2(made.folder, threads=1), f"CTranslate2, {precision}", size)


def report(rows: Sequence[Row], sources: list[str], references: list[str], rounds: int) -> None:
    """Print the table."""
    print(f"{len(sources)} sentences, best of {rounds} rounds\n")
    print("| engine | sentences/CPU s | ratio | BLEU | same text as regard | same links | MB |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    first_texts: list[str] = []
    first_links: list[tuple[Link, ...]] = []
    base = 0.0
    for row in rows:
        row.translate(sources[:BATCH])
        times = []
        for _ in range(rounds):
            begin = time.process_time()
            texts = row.translate(sources)
            times.append(time.process_time() - begin)
        speed = len(sources) / min(times)
        base = base or speed
        links = row.links(sources) if row.links else []
        first_texts, first_links = first_texts or texts, first_links or links
        same = [a == b for a, b in zip(texts, first_texts, strict=True)]
        pairs = [(a, b) for a, b, equal in zip(links, first_links, same, strict=False) if equal]
        common, both = sum(len({*a} & {*b}) for a, b in pairs), sum(len(a) + len(b) for a, b in pairs)
        shown = f"{200 * common / both:.1f} %" if both else "–"
        bleu = score(texts, references).bleu
        agreement = f"{100 * sum(same) / len(same):.1f} %"
        print(
            f"| {row.name} | {speed:.1f} | {speed / base:.2f} | {bleu:.2f} | {agreement} | {shown} | "
            f"{row.megabytes:.2f} |",
            flush=True,
        )


def marian(translator: Translator, beam: int) -> Callable[[Sequence[str]], list[str]]:
    """Put the parameters into a MarianMTModel, and translate with its `generate`."""
    from transformers import MarianConfig, MarianMTModel

    network, config = translator.network, translator.config
    spec = config.model
    model = MarianMTModel(
        MarianConfig(
            vocab_size=config.source_vocabulary,
            decoder_vocab_size=config.target_vocabulary,
            share_encoder_decoder_embeddings=False,
            d_model=spec.size,
            encoder_layers=spec.num_encoder_layers,
            decoder_layers=spec.num_decoder_layers,
            encoder_attention_heads=spec.num_heads,
            decoder_attention_heads=spec.num_heads,
            encoder_ffn_dim=spec.feed_forward_size,
            decoder_ffn_dim=spec.feed_forward_size,
            activation_function=spec.activation,
            scale_embedding=True,
            pad_token_id=PAD,
            eos_token_id=END,
            decoder_start_token_id=START,
            forced_eos_token_id=None,
        )
    ).eval()
    state = {marian_name(n): t for n, t in saved_tensors(network).items() if n.startswith(("encoder.", "decoder."))}
    state["model.encoder.embed_tokens.weight"] = network.source.table.weight
    state["model.decoder.embed_tokens.weight"] = network.target.table.weight
    state["lm_head.weight"] = network.output.weight
    state["final_logits_bias"] = network.output.bias[None]
    wrong = model.load_state_dict(state, strict=False)
    assert not [name for name in (*wrong.missing_keys, *wrong.unexpected_keys) if "embed_positions" not in name]

    def translate(texts: Sequence[str]) -> list[str]:
        encoded = translator.tokenizers.source.encode_batch([item.text for item in translator.read(texts)])
        order = sorted(range(len(texts)), key=lambda row: encoded.lengths[row])
        result = [""] * len(texts)
        for start in range(0, len(order), BATCH):
            rows = order[start : start + BATCH]
            longest = max(int(encoded.lengths[row]) for row in rows) + 1
            tokens = torch.full((len(rows), longest), PAD)
            for number, row in enumerate(rows):
                tokens[number, : len(encoded[row]) + 1] = torch.tensor([*encoded[row].tolist(), END])
            with torch.inference_mode():
                output = model.generate(
                    input_ids=tokens, attention_mask=tokens != PAD, num_beams=beam, max_length=2 * longest + 20
                )
            for row, ids in zip(rows, output.tolist(), strict=True):
                result[row] = translator.tokenizers.target.decode(ids)
        return result

    return translate


if __name__ == "__main__":
    main()
