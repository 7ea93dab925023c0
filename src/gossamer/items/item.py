"""Items, the records that spiders yield, and their keys.

An :class:`Item` is a pydantic model that does not raise for a value of a page: the pipeline drops the item
with the bad price and keeps the nineteen others of the page. Dicts and dataclasses are items as well. An item
without a key field is identified by its content.
"""

from __future__ import annotations

import dataclasses
from difflib import get_close_matches
from functools import cache
from typing import Annotated, Any, Literal, dataclass_transform, get_args, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError
from pydantic_core import PydanticUndefined

_PARTS = ("__dict__", "__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__")
"""The attributes that hold a model's state."""
KEY = "key"
"""The mark of a key field, in a model's ``json_schema_extra`` or a dataclass field's ``metadata``."""


class FileMark:
    """The mark of a field whose value is the URL of a file that the crawl is to save."""


FileRef = Annotated[str, FileMark()]
"""The type of a field with the URL of a file, which the crawl downloads and keeps.

The field may also be a list: ``manuals: list[FileRef] = []``. The stored value is the URL that the item of
the type ``File`` has.
"""


def key(default: Any = PydanticUndefined, **field: Any) -> Any:
    """Mark a field of an :class:`Item` as its key, or as a part of it: ``sku: str = key()``.

    Items of one type with equal keys are one item, however many pages show them. ``default`` is the default
    of the field, and ``field`` further arguments of ``pydantic.Field``.
    """
    return Field(default, json_schema_extra={KEY: True}, **field)


def key_field(**field: Any) -> Any:
    """Mark a field of a dataclass as its key, or as a part of it: ``sku: str = key_field()``.

    ``field`` is any arguments of ``dataclasses.field``.
    """
    return dataclasses.field(metadata={**field.pop("metadata", {}), KEY: True}, **field)


@dataclass_transform(kw_only_default=True, field_specifiers=(Field, PrivateAttr, key))
class Item(BaseModel):
    """The base class of typed items, a pydantic model.

    Values are converted to the types of their fields: ``"12.50"`` becomes a ``Decimal``. An invalid value
    does not raise: the pipeline drops the item and counts the reason. An unknown field raises ``TypeError``.
    A field without a default is required; :func:`key` marks the field that identifies the item.
    """

    model_config = ConfigDict(
        extra="forbid",
        str_strip_whitespace=True,
        allow_inf_nan=False,
        revalidate_instances="always",  # a misfit inside another item is a misfit of both
        populate_by_name=True,
    )

    __slots__ = ("_misfit",)

    def __init__(self, /, **data: Any) -> None:
        try:
            self.__pydantic_validator__.validate_python(data, self_instance=self)
        except ValidationError as error:
            problems = error.errors(include_url=False, include_input=False, include_context=False)
            for problem in problems:
                if problem["type"] == "extra_forbidden" and len(problem["loc"]) == 1:
                    raise TypeError(_describe_unknown(type(self), str(problem["loc"][0]))) from None
                if problem["type"] == "extra_forbidden":
                    raise
            self._keep_unchecked(data)

    # Nested data is validated by pydantic's core, not through this lenient constructor.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    def __setattr__(self, name: str, value: Any) -> None:
        """Assigned values are checked by the pipeline, like those that did not fit."""
        super().__setattr__(name, value)
        if (mark := _mark_of(self)) is not True:
            object.__setattr__(self, "_misfit", {*mark, name})

    def _keep_unchecked(self, data: dict[str, Any]) -> None:
        """Become a holder of unchecked values."""
        raw = type(self).model_construct(**data)
        for name in _PARTS:
            object.__setattr__(self, name, getattr(raw, name))
        object.__setattr__(self, "_misfit", True)


def _describe_unknown(kind: type[BaseModel], name: str) -> str:
    """That a class has no such field, with the one that is meant, or all of them."""
    near = get_close_matches(name, kind.model_fields, 1)
    meant = f"is {near[0]} meant?" if near else f"its fields are {', '.join(kind.model_fields)}"
    return f"{kind.__name__} has no field {name!r}: {meant}"


def _mark_of(item: BaseModel) -> set[str] | Literal[True]:
    """Return the names of fields assigned since the item was checked; ``True``: it never was."""
    try:
        return object.__getattribute__(item, "_misfit")  # type: ignore[no-any-return]
    except AttributeError:
        return set()


def is_misfit(item: BaseModel) -> bool:
    """Whether the item holds unchecked values: they did not fit their types, or were assigned later."""
    return bool(_mark_of(item))


def assigned_fields(item: BaseModel) -> frozenset[str] | None:
    """The fields that were assigned since an item was checked; ``None``: it is not known that others fit."""
    mark = _mark_of(item)
    return None if mark is True or not mark else frozenset(mark)


def as_another(item: BaseModel, kind: type[BaseModel], values: dict[str, Any]) -> BaseModel:
    """Return the item as an instance of a class with more fields, and their ``values``; checks are not
    repeated."""
    made = kind.__new__(kind)
    for name in _PARTS:
        object.__setattr__(made, name, getattr(item, name))
    object.__setattr__(made, "__dict__", {**item.__dict__, **values})
    object.__setattr__(made, "__pydantic_fields_set__", {*item.__pydantic_fields_set__, *values})
    object.__setattr__(made, "_misfit", _mark_of(item))
    return made


@cache
def key_fields(kind: type) -> tuple[str, ...]:
    """Return the names of the key fields of a model or dataclass, in their order; ``()`` means by content."""
    if issubclass(kind, BaseModel):
        return tuple(
            name
            for name, field in kind.model_fields.items()
            if isinstance(field.json_schema_extra, dict) and field.json_schema_extra.get(KEY)
        )
    if dataclasses.is_dataclass(kind):
        return tuple(field.name for field in dataclasses.fields(kind) if field.metadata.get(KEY))
    return ()


@cache
def file_fields(kind: type) -> tuple[str, ...]:
    """Return the names of the fields of a model or dataclass that hold URLs of files (:data:`FileRef`)."""
    if issubclass(kind, BaseModel):
        return tuple(
            name
            for name, field in kind.model_fields.items()
            if any(isinstance(mark, FileMark) for mark in field.metadata) or _names_files(field.annotation)
        )
    if dataclasses.is_dataclass(kind):
        try:
            hints = get_type_hints(kind, include_extras=True)
        except (NameError, TypeError):  # names that are known to type checkers alone
            return ()
        return tuple(field.name for field in dataclasses.fields(kind) if _names_files(hints[field.name]))
    return ()


def _names_files(annotation: Any) -> bool:
    """Whether a type is one of URLs of files, or has such a part."""
    return isinstance(annotation, FileMark) or any(map(_names_files, get_args(annotation)))
