"""Every endpoint gives what the library gives offline, and refuses what it should, with the limit named."""

import base64
import io
import json

import numpy as np
import pytest
import torch
from PIL import Image

import regard
from regard.decoding.search import Sampling, Search
from regard.serving.limits import Limits
from regard.tasks.translation.markup.search import search_marked
from unit.serving.served import client, sentences

TEXTS = list(sentences()[:5])


def picture():
    sink = io.BytesIO()
    Image.fromarray(np.random.default_rng(7).integers(0, 256, (9, 11, 3), dtype=np.uint8)).save(sink, format="PNG")
    return sink.getvalue()


PICTURE = base64.b64encode(picture()).decode()


def ask(asking, endpoint, **body):
    response = asking.post(f"/v1/{endpoint}", json=body)
    assert response.status_code == 200, response.text
    return response.json()


def refused(asking, endpoint, status=422, **body):
    response = asking.post(f"/v1/{endpoint}", json=body)
    assert response.status_code == status, response.text
    return response.json()["error"]


def test_translate_gives_what_search_gives(asking, models):
    reply = ask(asking, "translate", text=TEXTS, beam=3, n_best=2, alignment=True, max_length=9)
    offline = models["translator"].search(TEXTS, Search(beam=3, n_best=2, max_length=9), weights=True)
    assert reply["model"] == "translator"
    for received, outputs in zip(reply["translations"], offline, strict=True):
        assert [item["text"] for item in received["n_best"]] == [item.text for item in outputs]
        assert [item["score"] for item in received["n_best"]] == pytest.approx([item.score for item in outputs])
        links = [[link.source, link.target] for link in outputs[0].links_by("whitespace")]
        assert received["alignment"] == received["n_best"][0]["alignment"] == links
        assert (received["text"], received["finished"]) == (outputs[0].text, outputs[0].finished)


def test_translate_without_more_gives_text_and_score_alone(asking, models):
    [reply] = ask(asking, "translate", text=["el libro"])["translations"]
    assert set(reply) == {"text", "score", "finished", "read_as", "cut"}
    assert reply["text"] == models["translator"].translate(["el libro"])[0]
    assert ask(asking, "translate", text=["", " "])["translations"][0]["text"] == ""


def test_marks_and_terms_are_carried_as_offline(asking, models):
    texts, terms = ["<b>el libro</b> es &amp; rojo", "la <i>casa</i>", "un perro"], {"libro": "the house"}
    search = Search(beam=2, n_best=2)
    how = {"beam": 2, "n_best": 2, "markup": "html", "terms": terms, "alignment": True}
    reply = ask(asking, "translate", text=texts, **how)["translations"]
    offline = search_marked(models["translator"], texts, search, form="html", terms=terms)
    for received, outputs in zip(reply, offline, strict=True):
        assert [item["with_marks"] for item in received["n_best"]] == [item.with_marks for item in outputs]
        assert [item["text"] for item in received["n_best"]] == [item.text for item in outputs]
    assert all("the house" in item["text"] for item in reply[0]["n_best"])
    assert "<b>" in reply[0]["with_marks"]
    [plain] = ask(asking, "translate", text=["Hola {x}"], markup="placeholders")["translations"]
    assert "{x}" in plain["with_marks"]


def test_terms_are_limited_and_must_be_words_of_the_model(asking):
    many = {f"t{number}": "the" for number in range(101)}
    assert refused(asking, "translate", 413, text=["a"], terms=many) == (
        "`terms` must be at most 100; received 101. The limit is `terms`."
    )
    assert refused(asking, "translate", 413, text=["a"], terms={"x" * 30_000: "the"}).endswith("`characters`.")
    assert refused(asking, "translate", text=["a"], terms={"a": "Zoroaster"}).startswith("`terms` must be text that")
    assert refused(asking, "translate", text=["a"], terms={"": "the"}).startswith("`terms` must be words and their")
    assert refused(asking, "translate", text=["a"], markup="pdf").startswith("`markup` is not as it must be")


@pytest.mark.parametrize("words", ["whitespace", "marks"])
def test_align_gives_what_align_gives(asking, models, words):
    pairs = [("el libro, rojo", "the red book."), ("la casa", "the house")]
    written = [{"source": source, "target": target} for source, target in pairs]
    reply = ask(asking, "align", pairs=written, words=words)["alignments"]
    for received, offline in zip(reply, regard.align(models["translator"], pairs, words=words), strict=True):
        assert (received["source"], received["target"]) == (list(offline.source), list(offline.target))
        assert received["links"] == [[link.source, link.target] for link in offline.links]
        assert received["cut"] is False


@pytest.mark.parametrize("name", ["language", "ngram"])
def test_generate_streams_what_generate_gives(asking, models, name):
    settings = {"max_tokens": 12, "temperature": 0.7, "seed": 3}
    sampling = Sampling(temperature=0.7, seed=3)
    offline = models[name].generate("the cat", max_tokens=12, sampling=sampling)
    response = asking.post("/v1/generate", json={"model": name, "text": "the cat", **settings})
    assert response.headers["content-type"] == "application/x-ndjson"
    *lines, last = [json.loads(line) for line in response.text.splitlines()]
    assert "".join(line["text"] for line in lines) == offline
    assert last == {"done": True}
    assert ask(asking, "generate", model=name, text="the cat", stream=False, **settings)["text"] == offline


def test_temperature_zero_is_the_likeliest(asking, models):
    reply = ask(asking, "generate", model="language", text="the", max_tokens=5, temperature=0, stream=False)
    assert reply["text"] == models["language"].generate("the", max_tokens=5, greedy=True)


def test_classify_gives_what_classify_gives(asking, models):
    reply = ask(asking, "classify", text=["the cat sat", "dog"])["decisions"]
    for received, offline in zip(reply, models["classifier"].classify(["the cat sat", "dog"]), strict=True):
        assert (received["label"], received["words"]) == (offline.label, list(offline.words))
        assert received["probabilities"] == pytest.approx(offline.probabilities)
        assert received["weights"] == pytest.approx(offline.weights)


def test_pictures_are_labeled(asking, models, tmp_path):
    (tmp_path / "a.png").write_bytes(picture())
    [reply] = ask(asking, "classify", model="residual", image=[PICTURE])["decisions"]
    [offline] = models["residual"].classify([tmp_path / "a.png"])
    assert set(reply) == {"label", "probabilities"}
    assert reply["probabilities"] == pytest.approx(offline.probabilities)


def test_ask_gives_what_ask_gives(asking, models, tmp_path):
    (tmp_path / "a.png").write_bytes(picture())
    replies = ask(asking, "ask", image=PICTURE, questions=["the cat", "zzz"])["answers"]
    for question, received in zip(("the cat", "zzz"), replies, strict=True):
        offline = models["questions"].ask(tmp_path / "a.png", question)
        assert (received["answer"], received["unknown"]) == (offline.answer, list(offline.unknown))
        assert received["probability"] == pytest.approx(offline.probability)
    [caption] = ask(asking, "ask", model="captions", image=PICTURE, questions=[""])["answers"]
    assert caption["answer"] == models["captions"].caption(tmp_path / "a.png")[0].text


@pytest.mark.parametrize(("name", "target"), [("translator", "the book"), ("language", "cat"), ("classifier", None)])
def test_attention_gives_the_weights_bit_for_bit(asking, models, name, target):
    reply = ask(asking, "attention", model=name, text="the", target=target)
    offline = models[name].inspect("the", **({} if target is None else {"target": target}))
    assert reply["tokens"] == list(offline.tokens)
    assert [item["layer"] for item in reply["layers"]] == offline.trace.layers
    for item in reply["layers"]:
        numbers = torch.frombuffer(bytearray(base64.b64decode(item["weights"]["float32"])), dtype=torch.float32)
        weights = offline.call(item["layer"]).weights[0, :, : len(item["query"]), : len(item["key"])]
        assert torch.equal(numbers.view(item["weights"]["shape"]), weights)


def test_what_is_served_is_listed(asking, models):
    reply = asking.get("/v1/models").json()
    assert [item["name"] for item in reply["models"]] == list(models)
    assert reply["models"][0]["endpoints"] == ["translate", "align", "attention"]
    assert reply["limits"]["sentences"] == Limits().sentences


def test_a_model_is_chosen_by_its_name(asking):
    assert refused(asking, "translate", 404, text=["a"], model="translato") == (
        "`model` must be one that is served; received 'translato'. Did you mean translator?"
    )
    assert refused(asking, "translate", 422, text=["a"], model="ngram") == (
        "`model` must be one that answers /v1/translate; ngram answers /v1/generate, /v1/attention."
    )


def test_an_endpoint_without_a_model_is_not_there(models):
    with client({"ngram": models["ngram"]}) as asking:
        assert refused(asking, "ask", 404, image="", questions=["a"]) == (
            "/v1/ask must have a model that answers it; none of those served does."
        )


SMALL = Limits(characters=20, sentences=3, beam=4, n_best=2, tokens=10, attention_tokens=4, body=2000)
A, SPLIT = ["a"], {"source": "a" * 11, "target": "b" * 10}
OVER = [
    (413, "translate", {"text": ["a" * 21]}, "`text` must be at most 20 characters; received 21.", "characters"),
    (413, "translate", {"text": A * 4}, "`text` must be at most 3 sentences; received 4.", "sentences"),
    (422, "translate", {"text": A, "beam": 5}, "`beam` must be at most 4; received 5.", "beam"),
    (422, "translate", {"text": A, "n_best": 3}, "`n_best` must be at most 2; received 3.", "n_best"),
    (422, "translate", {"text": A, "beam": 1, "n_best": 2}, "`n_best` must be from 1 to `beam`, 1; received 2.", ""),
    (422, "translate", {"text": A, "max_length": 11}, "`max_length` must be at most 10 tokens; received 11.", "tokens"),
    (413, "align", {"pairs": [SPLIT]}, "`pairs` must be at most 20 characters; received 21.", "characters"),
    (422, "generate", {"max_tokens": 11}, "`max_tokens` must be at most 10 tokens; received 11.", "tokens"),
    (
        413,
        "ask",
        {"image": "", "questions": A * 4},
        "`questions` must be at most 3 sentences; received 4.",
        "sentences",
    ),
    (413, "classify", {"text": A * 4}, "`text` must be at most 3 sentences; received 4.", "sentences"),
    (
        413,
        "attention",
        {"text": "a a a a a"},
        "`text` must be at most 4 attention tokens; received 5.",
        "attention_tokens",
    ),
    (
        413,
        "translate",
        {"text": ["a" * 2000]},
        "A request must have at most 2,000 bytes; received more. Send less.",
        "",
    ),
]


@pytest.fixture(scope="module")
def limited(models):
    with client(models, limits=SMALL) as asking:
        yield asking


@pytest.mark.parametrize(("status", "endpoint", "body", "message", "limit"), OVER)
def test_limits_are_named(limited, status, endpoint, body, message, limit):
    named = f" The limit is `{limit}`." if limit else ""
    assert refused(limited, endpoint, status, **body) == f"{message}{named}"


def test_defaults_stay_below_the_limits(limited, models):
    offline = models["translator"].translate(["el libro"], Search(beam=4))
    assert ask(limited, "translate", text=["el libro"])["translations"][0]["text"] == offline[0]
    text = ask(limited, "generate", model="ngram", text="a", stream=False, temperature=0)["text"]
    assert text == models["ngram"].generate("a", max_tokens=10, greedy=True)


WRONG = [
    ("translate", {"text": "one string"}, "`text` is not as it must be: Input should be a valid list."),
    ("translate", {"text": [1]}, "`text.0` is not as it must be: Input should be a valid string."),
    ("translate", {"text": ["a"], "bean": 3}, "`bean` is not as it must be: Extra inputs are not permitted."),
    ("translate", {"text": ["a"], "length_penalty": 11}, "`length_penalty` is not as it must be: Input should be less"),
    (
        "generate",
        {"temperature": 1e-9},
        "`temperature` must be 0 for the likeliest tokens, or at least 0.01; received 1e-09.",
    ),
    ("classify", {}, "`text` must be what classifier labels, and come alone; received otherwise."),
    ("ask", {"image": "!!", "questions": ["a"]}, "`image` must be a file in base64; received something else"),
    ("attention", {"text": ""}, "`text` must"),
    ("attention", {"model": "classifier", "text": "a", "target": "b"}, "`target` must be left out for a classifier"),
]


@pytest.mark.parametrize(("endpoint", "body", "message"), WRONG)
def test_wrong_values_are_named(asking, endpoint, body, message):
    assert refused(asking, endpoint, **body).startswith(message)


NO_JSON = "The body must be JSON, in UTF-8; received something else."
RAW = {
    "half": (b'{"text": ["a"', 400, NO_JSON),
    "not UTF-8": (b'{"text": ["\xff\xfe"]}', 400, NO_JSON),
    "deep": (b"[" * 3000 + b"]" * 3000, 400, NO_JSON),
    "long number": (b'{"text": ["a"], "beam": ' + b"9" * 5000 + b"}", 400, NO_JSON),
    "NaN": (b'{"text": ["a"], "length_penalty": NaN}', 422, "`length_penalty` is not"),
    "infinite": (b'{"text": ["a"], "length_penalty": 1e999}', 422, "`length_penalty` is not"),
    "half a character": (
        b'{"text": ["a\\ud800"]}',
        422,
        "`text.0` is not as it must be: Value error, must be Unicode; received half a surrogate pair at index 1.",
    ),
    "nothing": (b"", 422, "`the body` is not"),
    "a list": (b"[]", 422, "`the body` is not"),
}


@pytest.mark.parametrize(
    ("endpoint", "body"),
    [
        ("align", {"pairs": [{"source": "a", "target": "\ud800"}]}),
        ("generate", {"text": "\ud800"}),
        ("classify", {"text": ["\ud800"]}),
        ("ask", {"image": "", "questions": ["\ud800"]}),
        ("attention", {"text": "a", "target": "\ud800"}),
        ("attention", {"text": "a", "model": "\ud800"}),
    ],
)
def test_half_a_character_is_refused_wherever_it_stands(asking, endpoint, body):
    content = json.dumps(body)
    response = asking.post(f"/v1/{endpoint}", content=content, headers={"content-type": "application/json"})
    assert response.status_code == 422
    assert "nicode" in response.json()["error"]


@pytest.mark.parametrize("name", RAW)
def test_bodies_that_are_none_are_refused(asking, name):
    content, status, begins = RAW[name]
    response = asking.post("/v1/translate", content=content, headers={"content-type": "application/json"})
    assert response.status_code == status, response.text
    assert response.json()["error"].startswith(begins)


@pytest.mark.parametrize(
    "path", ["/v1/../../etc/passwd", "/..%2f..%2fetc/passwd", "/v1/translate/..", "//etc/passwd", "/static/%2e%2e/x"]
)
def test_no_path_leads_to_a_file(asking, path):
    response = asking.get(path)
    assert response.status_code in (404, 405)
    assert set(response.json()) == {"error"}


def test_what_is_not_json_by_its_own_account_is_refused(asking):
    response = asking.post("/v1/translate", content="{}", headers={"content-type": "text/plain"})
    assert (response.status_code, response.json()["error"]) == (415, "`Content-Type` must be application/json.")


def test_the_description_has_the_limits(limited):
    body = limited.get("/openapi.json").json()["components"]["schemas"]["TranslateBody"]["properties"]
    assert (body["text"]["maxItems"], body["beam"]["maximum"], body["beam"]["default"]) == (3, 4, 4)


def test_probes_and_figures(asking):
    ask(asking, "translate", text=["el libro"])
    assert asking.get("/health").json() == {"state": "alive"}
    assert asking.get("/ready").json() == {"state": "ready"}
    text = asking.get("/metrics").text
    assert 'regard_requests_total{endpoint="/v1/translate",status="200"}' in text
    assert 'regard_batch_items_count{model="translator"}' in text
    assert "process_resident_memory_bytes" in text
