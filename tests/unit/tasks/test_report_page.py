"""The page on a run: one file, escaped, without the network."""

from html.parser import HTMLParser

import torch

from regard import __version__
from regard.tasks.card import TRANSLATE, Card, write_card
from regard.tasks.page import Report
from regard.tasks.translation.page import make_page

EVIL = '<script>alert("x")</script> & more'
METRICS = [
    {"event": "train", "step": 5, "cross_entropy": 3.0, "rate": 0.1, "tokens_per_second": 10.0},
    {"event": "train", "step": 10, "cross_entropy": 2.0, "rate": 0.2, "tokens_per_second": 12.0},
    {"event": "note", "text": EVIL},
    {
        "event": "valid",
        "step": 5,
        "loss": 2.5,
        "bleu": 1.0,
        "samples": [{"source": EVIL, "hypothesis": "a", "reference": EVIL}],
    },
    {
        "event": "valid",
        "step": 8,
        "loss": 2.2,
        "bleu": 1.5,
        "samples": [{"source": EVIL, "hypothesis": "a", "reference": EVIL}],
    },
    {
        "event": "valid",
        "step": 10,
        "loss": 2.0,
        "bleu": 2.0,
        "samples": [
            {
                "source": EVIL,
                "hypothesis": EVIL,
                "reference": EVIL,
                "looks": {"source": [EVIL, "</s>"], "target": [EVIL], "weights": [[0.25, 0.75]]},
            }
        ],
    },
]


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.seen, self.links = [], [], []

    def handle_starttag(self, tag, attributes):
        self.seen.append(tag)
        self.links += [value for name, value in attributes if name in ("src", "href")]
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.seen.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def page(metrics):
    return make_page(Report(EVIL, EVIL, {"BLEU": EVIL}, EVIL, EVIL, EVIL), metrics)


def test_the_page_is_whole_escaped_and_alone():
    text = page(METRICS)
    tags = Tags()
    tags.feed(text)
    assert tags.open == []
    assert "script" not in tags.seen
    assert tags.links == []
    assert tags.seen.count("svg") == 4
    assert tags.seen.count("polyline") == 5
    assert "&lt;script&gt;" in text
    assert "http" not in text
    assert text.count('style="--weight:') == 2
    assert 'style="--weight:0.750" title="&lt;script' in text
    assert "<th>&lt;/s&gt;</th>" in text
    assert "step 8" not in text  # the translation did not change there


def test_a_run_without_figures_has_a_page_too():
    text = page([])
    assert "None were made." in text
    assert "<svg" not in text


def test_one_point_is_drawn():
    assert "<circle" in page(METRICS[:1])


def test_a_card_is_markdown_with_a_head():
    card = write_card(
        Card(
            "a | b",
            "A model.",
            "data.",
            'CC-BY "4.0"',
            {"BLEU": "3 | 4"},
            "regard train",
            "task:x|seed:1",
            "runs/a/model",
            TRANSLATE,
        )
    )
    assert card.startswith('---\nlicense: "CC-BY \\"4.0\\""\n')
    assert "| BLEU | 3 \\| 4 |" in card
    assert 'regard.load("runs/a/model")' in card
    assert f"by regard {__version__} with torch {torch.__version__}." in card
    assert "Languages: not named." in card
    assert "language:" not in card
    assert "divided: not known." in card


def test_a_card_names_languages_and_the_checksum_of_the_data():
    about = {"title": "a", "summary": "", "data": "", "license": "", "figures": {}, "command": "", "signature": ""}
    card = write_card(Card(**about, folder="a", use=TRANSLATE, checksum="0f" * 32, languages=("es", "pt-BR")))
    assert '\nlanguage: ["es", "pt-BR"]\npipeline_tag: translation\n' in card
    assert "Languages: es, pt-BR." in card
    assert f"divided: {'0f' * 32}." in card
