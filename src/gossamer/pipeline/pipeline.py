"""From what a spider yields to the record that is stored.

The order: the user's own steps, then cleaning, validation, required fields, key. An item that fails is
dropped alone with a short reason; nothing else of its page is touched.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import msgspec
from pydantic import BaseModel
from pydantic_core import PydanticSerializationError

from gossamer.items import Item, is_misfit, key_fields
from gossamer.pipeline.clean import clean_dict
from gossamer.pipeline.keys import content_hash, content_key, key_text
from gossamer.pipeline.validate import (
    MAX_REASON,
    adapter,
    check_plain,
    check_required,
    checked_dataclass,
    drop,
    refit,
)
from gossamer.words.errors import DropItem
from gossamer.words.model import ItemRecord

_SCALARS = frozenset({str, int, float, bool, type(None), Decimal, date, datetime})
"""Values that cannot be changed, only be replaced."""

PLAIN_TYPE = "item"
"""The type of plain dicts."""


def _hook(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    raise TypeError(f"a {type(value).__name__} cannot be stored as JSON")


_encode = msgspec.json.Encoder(enc_hook=_hook).encode


class DefaultPipeline:
    """The :class:`~gossamer.words.ports.Pipeline` of every crawl.

    ``steps`` run first, in their order: functions ``step(item)`` or ``step(item, spider)``, or objects
    (or classes) with ``process_item(item, spider)``, ``async`` or not, as in Scrapy. Each returns the item
    or raises ``DropItem``. ``require_fields`` names fields that no item may lack.
    """

    def __init__(
        self, *, require_fields: Sequence[str] = (), steps: Sequence[Any] = (), spider: Any = None
    ) -> None:
        self._required = tuple(require_fields)
        self._spider = spider
        self._objects = [step() if isinstance(step, type) else step for step in steps]
        self._steps = [_step(thing) for thing in self._objects]

    async def open(self) -> None:
        """Call ``open_spider`` of the steps that have it."""
        await self._call_all("open_spider")

    async def close(self) -> None:
        """Call ``close_spider`` of the steps that have it."""
        await self._call_all("close_spider")

    async def _call_all(self, hook: str) -> None:
        for thing in self._objects:
            if method := getattr(thing, hook, None):
                await _settled(method(self._spider))

    async def process(self, item: Any, url: str) -> ItemRecord:
        """The record to store. Raises :class:`DropItem` with the reason."""
        for name, step in self._steps:
            item = await self._run(name, step, item)
        return self.record(item, url)

    async def _run(self, name: str, step: Callable[[Any, Any], Any], item: Any) -> Any:
        try:
            result = await _settled(step(item, self._spider))
        except DropItem as error:
            raise DropItem((str(error) or f"dropped by {name}")[:MAX_REASON]) from None
        except (Exception, SystemExit) as error:
            raise DropItem(f"{name}: {type(error).__name__}: {error}"[:MAX_REASON]) from error
        if result is None:
            raise DropItem(f"{name} returned no item")
        return result

    def record(self, item: Any, url: str) -> ItemRecord:
        """The same without the steps."""
        if isinstance(item, BaseModel):
            kind, values, data = _from_model(item)
        elif isinstance(item, dict):
            kind, values, data = PLAIN_TYPE, *_from_dict(PLAIN_TYPE, item)
        elif dataclasses.is_dataclass(item) and not isinstance(item, type):
            kind, values, data = _from_dataclass(item)
        else:
            raise DropItem(f"a {type(item).__name__} is no item: yield an Item, a dict or a dataclass")
        if self._required:
            check_required(kind, values, self._required)
        return ItemRecord(
            type=kind, key=_key(kind, type(item), values, data), data=data, hash=content_hash(data), url=url
        )


def _step(thing: Any) -> tuple[str, Callable[[Any, Any], Any]]:
    """A step as a function of item and spider, with its name for reasons."""
    if hasattr(thing, "process_item"):
        return type(thing).__name__, thing.process_item
    name = getattr(thing, "__name__", type(thing).__name__)
    if len(inspect.signature(thing).parameters) >= 2:
        return name, thing
    return name, lambda item, _spider: thing(item)


async def _settled(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


def _from_model(item: BaseModel) -> tuple[str, dict[str, Any], bytes]:
    """A model was checked when it was made, so only misfits and what was assigned later need it again."""
    kind = type(item).__name__
    values = clean_dict(item.__dict__)
    if isinstance(item, Item) and is_misfit(item):
        item = refit(item, values)
    elif values is not item.__dict__:
        item = item.model_copy(update=values)
    elif isinstance(item, Item) and all(type(value) in _SCALARS for value in values.values()):
        # Nothing in it can have changed its type since. (To look for that costs 25 times as much
        # beside another busy thread: pydantic's core lets go of the interpreter lock for it.)
        return kind, values, item.__pydantic_serializer__.to_json(item)
    try:
        data = item.__pydantic_serializer__.to_json(item, warnings="error")
    except PydanticSerializationError:  # a value of another type was assigned
        item = refit(item, values)
        try:
            data = item.__pydantic_serializer__.to_json(item)
        except PydanticSerializationError as error:
            raise drop(kind, "", str(error)) from None
    return kind, item.__dict__, data


def _from_dataclass(item: Any) -> tuple[str, dict[str, Any], bytes]:
    cls: type = type(item)
    kind = cls.__name__
    fields = [field.name for field in dataclasses.fields(item)]
    checked = checked_dataclass(item, clean_dict({name: getattr(item, name) for name in fields}))
    serialise = adapter(cls)
    if serialise is None:
        return kind, *_from_dict(kind, checked)
    try:
        data = serialise.dump_json(checked)
    except PydanticSerializationError as error:
        raise drop(kind, "", str(error)) from None
    return kind, {name: getattr(checked, name) for name in fields}, data


def _from_dict(kind: str, item: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    values = clean_dict(item)
    check_plain(kind, values)
    try:
        return values, _encode(values)
    except (TypeError, ValueError, RecursionError) as error:
        raise drop(kind, "", str(error)) from None


def _key(kind: str, item_type: type, values: dict[str, Any], data: bytes) -> str:
    names = key_fields(item_type)
    if not names:
        return content_key(data)
    text = key_text([values[name] for name in names])
    if text is None:
        raise drop(kind, " and ".join(names), "the key is empty")
    return text
