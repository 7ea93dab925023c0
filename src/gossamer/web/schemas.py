"""The OpenAPI document: FastAPI's, with the schemas of records as the answers have them."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any

import msgspec
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from gossamer.core.record import FieldMeaning
from gossamer.queries.documents import meanings_of

PLACE = "#/components/schemas/{name}"
FINGERPRINT = {"type": "string", "pattern": "^[0-9a-f]{16}$"}
TOKEN = "bearer"  # noqa: S105 - the name of a scheme


def describe_api(app: FastAPI, records: Iterable[type[msgspec.Struct]]) -> dict[str, Any]:
    """The document of an application whose routes answer with these records."""
    document = get_openapi(
        title=app.title, version=app.version, description=app.description, routes=app.routes
    )
    components = document.setdefault("components", {})
    components.setdefault("schemas", {}).update(schemas_of(records))
    components["securitySchemes"] = {TOKEN: {"type": "http", "scheme": "bearer"}}
    document["security"] = [{TOKEN: []}]
    for name in ("HTTPValidationError", "ValidationError"):  # ours say more
        components["schemas"].pop(name, None)
    return document


def schemas_of(records: Iterable[type[msgspec.Struct]]) -> dict[str, Any]:
    """The schemas of records, and of those within them, as ``to_answer`` writes them, by name."""
    found = sorted({*records}, key=lambda record: record.__name__)
    _, schemas = msgspec.json.schema_components(found, ref_template=PLACE)
    for record in _records_within(found):
        _as_answered(record, schemas[record.__name__])
    return schemas


def _as_answered(record: type[msgspec.Struct], schema: dict[str, Any]) -> None:
    """Change a schema to the written form: every field, without asides, fingerprints as text."""
    meant = dict(meanings_of(record))
    fields = {name: field for name, field in schema.get("properties", {}).items() if name in meant}
    for name, field in fields.items():
        field.pop("default", None)
        if meant[name] is FieldMeaning.FINGERPRINT:
            fields[name] = FINGERPRINT
        elif meant[name] is FieldMeaning.TIME:
            field["description"] = "seconds since the epoch"
    schema["properties"] = fields
    schema["required"] = list(fields)
    schema["description"] = inspect.getdoc(record) or ""


def _records_within(records: Iterable[type[msgspec.Struct]]) -> set[type[msgspec.Struct]]:
    """All records that these consist of, themselves included."""
    found: set[type[msgspec.Struct]] = set()
    waiting: list[Any] = list(msgspec.inspect.multi_type_info(list(records)))
    while waiting:
        info = waiting.pop()
        if isinstance(info, msgspec.inspect.StructType):
            if info.cls in found:
                continue
            found.add(info.cls)
            waiting += [field.type for field in info.fields]
        elif isinstance(info, msgspec.inspect.Type):
            parts = [getattr(info, name) for name in info.__struct_fields__]
            waiting += [part for part in parts if isinstance(part, msgspec.inspect.Type)]
            waiting += [inner for part in parts if isinstance(part, tuple) for inner in part]
    return found
