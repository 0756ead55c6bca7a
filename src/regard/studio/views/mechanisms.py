"""The view Mechanisms: any score, normalizer, mask and position on small tables, by the operator itself."""

from typing import Any

import torch
from fastapi import APIRouter

from regard.attention import Cosine, Gaussian, attention, lookup
from regard.inspection import computation
from regard.layers.attend import Attend
from regard.layers.position.sinusoidal import SinusoidalPositions
from regard.studio.models import Models
from regard.studio.schema.mechanism_choices import as_tensor
from regard.studio.schema.mechanisms import (
    AttendAnswer,
    AttendRequest,
    LookupAnswer,
    LookupRequest,
    WavesAnswer,
    WavesRequest,
)
from regard.studio.views.steps import write_score


def router(models: Models) -> APIRouter:
    """Give the view's verbs; none needs a model."""
    del models
    made = APIRouter(prefix="/mechanisms")

    @made.post("/attend")
    def attend(body: AttendRequest) -> AttendAnswer:
        return attend_small(body)

    @made.post("/waves")
    def waves(body: WavesRequest) -> WavesAnswer:
        positions = SinusoidalPositions(body.size, base=body.base)
        return WavesAnswer(table=positions.table(body.length).tolist())

    @made.post("/lookup")
    def lookup_word(body: LookupRequest) -> LookupAnswer:
        return lookup_both(body)

    return made


def attend_small(body: AttendRequest) -> AttendAnswer:
    """Compute the call by the operator, and each row's steps, which agree with it."""
    query, key, value = (torch.tensor(table) for table in (body.query, body.key, body.value))
    attend = Attend(normalize=body.normalizer.build()).eval()
    settings = {
        "score": body.score.build(),
        "mask": None if body.mask is None else body.mask.build(),
        "position": None if body.position is None else body.position.build(),
    }
    result = attention(query, key, value, **settings, normalize=attend.normalize, return_weights=True)
    rows = [
        computation(attend, lambda: attend(query, key, value, **settings), layer="Attend", query=row)
        for row in range(len(query))
    ]

    def listed(name: str) -> Any:
        parts = [getattr(item, name) for item in rows]
        return None if parts[0] is None else [part.tolist() for part in parts]

    parts = ("query", "compared", "added", "scores", "mask", "normalized", "factors", "extra")
    return AttendAnswer(
        **{name: listed(name) for name in parts},
        key=rows[0].keys.tolist(),
        weights=result.weights.tolist(),
        context=result.context.tolist(),
        turned=rows[0].unturned is not None,
        score=[write_score(item) for item in rows],
        code=code_of(body),
    )


def code_of(body: AttendRequest) -> str:
    """Write the call as Python that can be run."""
    named = {"score": body.score, "mask": body.mask, "position": body.position, "normalize": body.normalizer}
    chosen = {name: item for name, item in named.items() if item is not None}
    imports = sorted({item.name for item in chosen.values()})
    tables = [f"{name} = {as_tensor(getattr(body, name))}" for name in ("query", "key", "value")]
    arguments = [f"    {name}={item.code()}," for name, item in chosen.items()]
    return "\n".join(
        [
            "import torch",
            f"from regard import {', '.join(imports)}, attention",
            "",
            *tables,
            "context, weights, _ = attention(",
            "    query, key, value,",
            *arguments,
            "    return_weights=True,",
            ")",
            "",
        ]
    )


def lookup_both(body: LookupRequest) -> LookupAnswer:
    """Look up a word in a dictionary exactly and softly; numbers are compared by nearness, words by their letters."""
    points, values = _numbers([body.query, *body.keys]), _numbers(body.values)
    table: Any = body.values if values is None else torch.tensor(values)
    query: Any = body.query if points is None else torch.tensor(points[:1])
    keys: Any = body.keys if points is None else torch.tensor(points[1:])[:, None]
    score = Cosine(body.temperature) if points is None else Gaussian(body.temperature)
    result = lookup(query, keys, table, exact=False, score=score)
    try:
        exact = lookup(query, keys, table)
    except KeyError:
        exact = None
    return LookupAnswer(
        by=str(score),
        mixes=values is not None,
        exact=_plain(exact),
        value=_plain(result.value),
        weights=result.weights.tolist(),
        code=f"""import torch
from regard import {score}, lookup

query = {repr(body.query) if points is None else as_tensor(points[:1])}
keys = {repr(body.keys) if points is None else f"{as_tensor(points[1:])}[:, None]"}
values = {repr(body.values) if values is None else as_tensor(values)}
value, weights = lookup(query, keys, values, exact=False, score={score}({body.temperature!r}))
""",
    )


def _numbers(texts: list[str]) -> list[float] | None:
    """Read all as numbers, or none."""
    try:
        result = [float(text) for text in texts]
    except ValueError:
        return None
    return result if all(abs(item) < 1e6 for item in result) else None


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, torch.Tensor) else value
