"""All verbs with their requests and answers, as one JSON schema, read off the app itself."""

import json
from typing import Any

from pydantic.json_schema import models_json_schema

from regard.studio.models import Models
from regard.studio.schema.keep import Recording
from regard.studio.server import create_app


def schema() -> dict[str, Any]:
    """Give a JSON schema of an object `Verbs` with a request and an answer under the name of each verb."""
    table = create_app(Models()).openapi()
    verbs = {
        path.removeprefix("/api/"): _plain(_verb(methods["post"]))
        for path, methods in table["paths"].items()
        if "post" in methods
    }
    parts = {
        name: _plain(part)
        for name, part in table["components"]["schemas"].items()
        if name not in ("HTTPValidationError", "ValidationError")
    }
    _, recording = models_json_schema([(Recording, "serialization")], ref_template="#/components/schemas/{model}")
    parts = {name: _plain(part) for name, part in recording["$defs"].items()} | parts
    return {
        "title": "Verbs",
        "type": "object",
        "properties": verbs,
        "required": sorted(verbs),
        "additionalProperties": False,
        "definitions": parts,
    }


def schema_text() -> str:
    """Write the schema; the head of `web/src/api.ts` names it by its SHA-256."""
    return json.dumps(schema(), indent=1)


def _verb(post: dict[str, Any]) -> dict[str, Any]:
    answer = post["responses"]["200"]["content"]["application/json"]["schema"]
    body = post.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    empty = {"type": "object", "additionalProperties": False}
    return {
        "type": "object",
        "properties": {"request": body or empty, "answer": answer},
        "required": ["request", "answer"],
        "additionalProperties": False,
    }


def _plain(part: Any) -> Any:
    """Leave out what TypeScript cannot say: limits, titles of fields, defaults."""
    dropped = ("maxLength", "minLength", "maxItems", "minItems", "minimum", "maximum", "exclusiveMinimum", "default")
    if isinstance(part, list):
        return [_plain(item) for item in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        named = {"$ref": part["$ref"].replace("#/components/schemas/", "#/definitions/")}
        return {"allOf": [named], "description": part["description"]} if "description" in part else named
    kept = {name: value for name, value in part.items() if name not in dropped}
    if "prefixItems" in part:  # a tuple, as json-schema-to-typescript reads one
        items = [_plain(item) for item in kept.pop("prefixItems")]
        return kept | {"items": items, "minItems": len(items), "maxItems": len(items), "additionalItems": False}
    if "properties" in kept:
        kept["properties"] = {
            name: {key: value for key, value in field.items() if key != "title"}
            for name, field in kept["properties"].items()
        }
    return {name: _plain(value) for name, value in kept.items()}
