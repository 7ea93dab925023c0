"""The schema of a spider in TOML. Unknown keys are refused."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from gossamer.core.errors import UsageError
from gossamer.spiders.pagination import Paginate
from gossamer.spiders.query import compile_query

FIELD_TYPES = (
    *("str", "int", "float", "decimal", "price", "date", "datetime", "bool", "url", "file", "html", "json"),
)
"""Types of a value; ``list[TYPE]`` means several values."""
CLEANING = ("squeeze", "lower", "upper", "title")
"""Operations on a text before it becomes a value."""
_LIST = re.compile(r"list\[(\w+)\]")
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def _check_query(text: str) -> str:
    compile_query(text)
    return text


def _check_css(text: str) -> str:
    if compile_query(text).kind != "css":
        raise ValueError("it must be a CSS selector")
    return text


def _check_pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"{text!r} is not a regular expression: {error}") from None
    return text


def _check_type(text: str) -> str:
    found = _LIST.fullmatch(text)
    if (found[1] if found else text) not in FIELD_TYPES:
        raise ValueError(f"unknown type {text!r}; types are: {', '.join(FIELD_TYPES)}, and list[...] of them")
    return text


def _check_variable(text: str) -> str:
    if not _VARIABLE.fullmatch(text):
        raise ValueError(
            "it must be the name of an environment variable, in capitals; the value is the variable's, and "
            "never in this file"
        )
    return text


def _check_name(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise ValueError(f"{text!r} is not a name: letters, digits and _, beginning with a letter")
    return text


def _check_url(text: str) -> str:
    if not text.startswith(("http://", "https://")):
        raise ValueError(f"{text!r} is not a URL that begins with http:// or https://")
    return text


def _to_list(value: Any) -> Any:
    """One thing stands for a list of one."""
    return value if isinstance(value, list) else [value]


def _to_field(value: Any) -> Any:
    """A selector alone is a field with nothing else said."""
    return {"select": value} if isinstance(value, str | list) else value


def _to_uses(value: Any) -> Any:
    """The name of an item type alone is one item of a page."""
    return [{"type": one} if isinstance(one, str) else one for one in _to_list(value)]


QueryText = Annotated[str, AfterValidator(_check_query)]
CssText = Annotated[str, AfterValidator(_check_css)]
PatternText = Annotated[str, AfterValidator(_check_pattern)]
NameText = Annotated[str, AfterValidator(_check_name)]
UrlText = Annotated[str, AfterValidator(_check_url)]
Queries = Annotated[list[QueryText], BeforeValidator(_to_list), Field(min_length=1)]
Patterns = Annotated[list[PatternText], BeforeValidator(_to_list)]
Names = Annotated[list[str], BeforeValidator(_to_list)]
CssTexts = Annotated[list[CssText], BeforeValidator(_to_list)]


class BaseDocument(BaseModel):
    """The base of all tables of the file, which refuses unknown keys and other types."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class FieldDocument(BaseDocument):
    """A field of an item: the place of its value, and its type."""

    select: Queries | None = None
    """Selectors of the value; the first with a result wins."""
    page: Literal["url", "title", "description", "text"] | None = None
    """The property of the page that is the value, in place of ``select``."""
    type: Annotated[str, AfterValidator(_check_type)] = "str"
    optional: bool = False
    default: Any = None
    re: PatternText | None = None
    """A regular expression: its first group, or all of it, is the text."""
    clean: Annotated[list[Literal["squeeze", "lower", "upper", "title"]], BeforeValidator(_to_list)] = []
    format: str = ""
    """The format of a date, as in ``strptime``."""
    decimal_mark: Literal["", ".", ","] = ""
    unit: str = ""
    """The unit to which a number with a unit is converted."""

    @property
    def kind(self) -> str:
        """The type of one value."""
        return self.type.removeprefix("list[").removesuffix("]")

    @property
    def is_list(self) -> bool:
        """Whether it has all values that are found."""
        return self.type.startswith("list[")


class ItemDocument(BaseDocument):
    """A type of items."""

    key: Names = []
    fields: dict[NameText, Annotated[FieldDocument, BeforeValidator(_to_field)]] = Field(min_length=1)


class UseDocument(BaseDocument):
    """Items on pages of a type: one of a page, or one of each block."""

    type: str
    each: QueryText | None = None


class FollowDocument(BaseDocument):
    """Links that are followed."""

    select: QueryText | None = None
    allow: Patterns = []
    deny: Patterns = []
    page: str | None = None
    """The type of the pages; without it, the first whose ``match`` fits the URL, else the same type."""
    priority: int = 0


class PagingDocument(BaseDocument):
    """How the pages of a listing follow one another: the arguments of ``Paginate``."""

    next: str = ""
    param: str = ""
    url: str = ""
    pages: str = ""
    total: str = ""
    cursor: str = ""
    entries: str = ""
    of: str = ""
    first: int | None = None
    step: int = 1
    size: int | None = None
    limit: int = 10_000
    priority: int = 0

    def to_paginate(self) -> Paginate:
        """The helper that does it. Raises ``UsageError``."""
        return Paginate(**self.model_dump(exclude={"priority"}))


def _check_paging(paging: PagingDocument | None) -> PagingDocument | None:
    try:
        if paging is not None:
            paging.to_paginate()
    except UsageError as error:
        raise ValueError(str(error).removeprefix("Paginate: ")) from None
    return paging


class PageDocument(BaseDocument):
    """A type of pages: its URLs, its items, and the links to follow."""

    match: PatternText | None = None
    """A regular expression for their URLs; the link gives the type of other pages."""
    require: CssTexts = []
    items: Annotated[list[UseDocument], BeforeValidator(_to_uses)] = []
    follow: Annotated[list[FollowDocument], BeforeValidator(_to_list)] = []
    paginate: Annotated[PagingDocument | None, AfterValidator(_check_paging)] = None


class LoginDocument(BaseDocument):
    """The log-in form."""

    url: UrlText
    form: CssText = "form"
    fields: dict[str, Annotated[str, AfterValidator(_check_variable)]] = Field(min_length=1)
    """The environment variable that holds the value of each field."""
    check: CssText | None = None
    """An element that only pages for members have."""


class SpiderDocument(BaseDocument):
    """The whole file."""

    name: Annotated[str, Field(min_length=1)]
    start_urls: Annotated[list[UrlText], BeforeValidator(_to_list)]
    """Empty for a spider whose pages are given to it (``gossamer seeds``)."""
    allowed_domains: Names = []
    start: str | None = None
    """The type of the start URLs' pages; without it, the first of ``pages``."""
    settings: dict[str, Any] = {}
    login: LoginDocument | None = None
    items: dict[NameText, ItemDocument] = {}
    pages: dict[NameText, PageDocument] = Field(min_length=1)
