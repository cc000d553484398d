"""The JSON form of a preview; its schema is published as docs/reference/preview.schema.json."""

from __future__ import annotations

from typing import Any

from preview.records import Preview


def render(preview: Preview) -> str:
    """The whole preview as JSON text with a newline at the end; the same preview gives the same bytes."""
    return preview.to_json()


def preview_schema() -> dict[str, Any]:
    """The JSON Schema of `render`'s output."""
    schema = Preview.model_json_schema(by_alias=True, mode="serialization")
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "sizewell preview --format json"
    return schema
