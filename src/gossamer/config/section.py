"""Base classes and types of the sections of settings."""

from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, GetCoreSchemaHandler
from pydantic_core.core_schema import (
    CoreSchema,
    no_info_plain_validator_function,
    plain_serializer_function_ser_schema,
)

from gossamer.core.lazy import lazy_pattern

SectionT = TypeVar("SectionT", bound=BaseModel)

Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Timeout = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1)]
Pattern = str
Name = Annotated[str, Field(pattern=r"^[^,&=\s]+$")]
HeaderName = Annotated[str, Field(pattern=r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")]  # RFC 9110, 5.6.2
HeaderText = Annotated[str, Field(pattern=r"^[\x20-\x7e]*$")]

SECTION = r"^[a-z0-9](?:_?[a-z0-9-]+)*$"  # also said in the environment
VARIABLE = r"^(?:[A-Z_][A-Z0-9_]*)?$"
HTTP_URL = r"^https?://"
ANSWER_PART = r"^$|^(?:header|json|base64):\S+$"
COUNTRY = r"^(?:[a-z]{2})?$"
HOST = lazy_pattern(r"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*)(?::[0-9]{1,5})?")
"""A host to compare with hosts of URLs; international names are in their ``xn--...`` form."""
SectionName = Annotated[str, Field(pattern=SECTION)]
MEANT_BY = {
    SECTION: "named with small letters, digits, hyphens and single underscores",
    VARIABLE: "the name of an environment variable, in capitals; the secret is the variable's value",
    HTTP_URL: "a URL that begins with http:// or https://",
    ANSWER_PART: "header:NAME, json:PATH, base64:PATH or empty",
    COUNTRY: "a code of two small letters, such as de",
    "should be a valid tuple": 'a list, as in ["first", "second"]',
    "should be a valid dictionary": 'a table, as in {"name": "value"}',
}
"""Descriptions of patterns, and of types that pydantic names as Python does, for messages."""


def _check_host(host: str) -> str:
    if not HOST.fullmatch(host):
        raise ValueError(f"{host!r} is not a host as it stands in URLs: shop.example, or shop.example:8080")
    return host


HostName = Annotated[str, AfterValidator(_check_host)]


class BaseSettings(BaseModel):
    """The base of all settings: frozen, strict about names and types."""

    # The validator is built at its first use.
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)


class _BuiltLate:
    """Builds the validator of a section when a setting in it is given: few crawls use most sections."""

    def __get_pydantic_core_schema__(
        self, section: type[BaseModel], handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        as_document = plain_serializer_function_ser_schema(to_document)
        return no_info_plain_validator_function(section.model_validate, serialization=as_document)


def to_document(said: Any) -> Any:
    """Return a section, or a part of it, as dictionaries, lists and plain values.

    Faster than pydantic at the start of a crawl: that would first build a serializer for each section.
    """
    if isinstance(said, BaseModel):
        return {name: to_document(getattr(said, name)) for name in type(said).model_fields}
    if isinstance(said, dict):
        return {name: to_document(value) for name, value in said.items()}
    if isinstance(said, tuple | list):
        return [to_document(value) for value in said]
    return said


Late = Annotated[SectionT, _BuiltLate()]
"""A section of the settings."""


def make_section(kind: type[BaseSettings], *, description: str) -> Any:
    """The field of a section; its default needs no checks."""
    return Field(default=kind.model_construct(), description=description)
