"""From what a spider yields to the record that is stored.

The order: the user's own steps, then cleaning, validation, required fields, key. An item that a step drops
or that does not hold what its type promises is dropped alone, with a short reason; nothing else of its page
is touched. A step that fails in any other way fails the page: nothing of it is stored, and it is tried
again. An item that no store could take is a slip of the spider, and its page a dead letter.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

import msgspec
from pydantic import BaseModel
from pydantic_core import PydanticSerializationError

from gossamer.core.errors import DropItem, PipelineError, UnstorableItemError
from gossamer.core.results import ItemRecord
from gossamer.items.clean import clean_dict
from gossamer.items.item import Item, is_misfit, key_fields
from gossamer.items.keys import content_hash, content_key, key_text
from gossamer.items.validate import (
    MAX_ITEM_BYTES,
    MAX_REASON,
    SCALARS,
    adapter_for,
    check_plain,
    check_required,
    check_shape,
    checked_dataclass,
    drop_error,
    revalidate_item,
    unstorable_error,
)
from gossamer.runtime.user_code import await_value, ends_task, traceback_text

PLAIN_TYPE = "item"
"""The type of plain dicts."""


def _encode_model(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    raise TypeError(f"a {type(value).__name__} cannot be stored as JSON")


_encode = msgspec.json.Encoder(enc_hook=_encode_model).encode


class DefaultPipeline:
    """The :class:`~gossamer.ports.pipeline.Pipeline` of every crawl.

    ``steps`` run first, in their order: functions ``step(item)`` or ``step(item, spider)``, or objects
    (or classes) with ``process_item(item, spider)``, ``async`` or not, as in Scrapy. Each returns the item
    or raises ``DropItem``; one that waits longer than ``timeout_s`` seconds has failed. ``require_fields``
    names fields that no item may lack.
    """

    def __init__(
        self,
        *,
        require_fields: Sequence[str] = (),
        steps: Sequence[Any] = (),
        spider: Any = None,
        timeout_s: float = 60.0,
    ) -> None:
        self._required = tuple(require_fields)
        self._spider = spider
        self._timeout_s = timeout_s
        self._objects = [step() if isinstance(step, type) else step for step in steps]
        self._steps = [_adapt_step(thing) for thing in self._objects]
        self._opened: list[Any] = []

    async def open_steps(self) -> None:
        """Call ``open_spider`` of the steps that have it. Raises what it raises; then none is left open."""
        for thing in self._objects:
            try:
                if method := getattr(thing, "open_spider", None):
                    await await_value(method(self._spider), self._timeout_s)
            except BaseException:
                await self.close_steps()
                raise
            self._opened.append(thing)

    async def close_steps(self) -> list[str]:
        """Call ``close_spider`` of the steps that were opened, whatever one of them raises.

        The tracebacks of those that failed, each after a line that names the step.
        """
        opened, self._opened = self._opened, []
        failures = []
        for thing in opened:
            name = f"{_step_name(thing)}.close_spider()"
            try:
                if method := getattr(thing, "close_spider", None):
                    await await_value(method(self._spider), self._timeout_s)
            except BaseException as error:
                if ends_task(error):
                    raise
                failures.append(_describe_failure(name, error))
        return failures

    async def process(self, item: Any, url: str) -> ItemRecord:
        """The record to store.

        Raises :class:`DropItem` with the reason, :class:`PipelineError` or :class:`UnstorableItemError`.
        """
        for name, step in self._steps:
            item = await self._run(name, step, item, url)
        try:
            return self.build_record(item, url)
        except (DropItem, UnstorableItemError):
            raise
        except BaseException as error:  # of validators, serialisers and values that the spider's items have
            if ends_task(error):
                raise
            raise UnstorableItemError(f"{_describe_type(item)}: {traceback_text(error, __file__)}") from error

    async def _run(self, name: str, step: Callable[[Any, Any], Any], item: Any, url: str) -> Any:
        """One step; ``find_step`` finds its name and the page's URL in this frame."""
        try:
            result = await await_value(step(item, self._spider), self._timeout_s)
        except DropItem as error:
            raise DropItem((str(error) or f"dropped by {name}")[:MAX_REASON]) from None
        except BaseException as error:
            if ends_task(error):
                raise
            raise PipelineError(_describe_failure(name, error)) from error
        if not _is_item(result):
            raise PipelineError(f"{name} returned {_describe_type(result)}, which is not an item")
        return result

    def build_record(self, item: Any, url: str) -> ItemRecord:
        """The same without the steps."""
        if isinstance(item, BaseModel):
            kind, values, data = _from_model(item)
        elif isinstance(item, dict):
            kind, values, data = PLAIN_TYPE, *_from_dict(PLAIN_TYPE, item)
        elif _is_item(item):
            kind, values, data = _from_dataclass(item)
        else:
            raise UnstorableItemError(
                f"{_describe_type(item)} is not an item: yield an Item, a dict or a dataclass"
            )
        if len(data) > MAX_ITEM_BYTES:
            raise unstorable_error(kind, "", f"more than {MAX_ITEM_BYTES // 2**20} MiB as JSON")
        if self._required:
            check_required(kind, values, self._required)
        return ItemRecord(
            type=kind,
            key=_item_key(kind, type(item), values, data),
            data=data,
            hash=content_hash(data),
            url=url,
        )


def find_step(frame: FrameType) -> tuple[str, str] | None:
    """The step that a frame has called, in words, and the URL of the item's page.

    ``None``: it is a frame of something else. For the watchdog, which asks while the step runs.
    """
    called = frame.f_locals
    if frame.f_code is DefaultPipeline._run.__code__:
        return f"the pipeline step {called['name']} on an item of", called["url"]
    if frame.f_code is DefaultPipeline.process.__code__:
        return "an item of", called["url"]
    return None


def _is_item(thing: Any) -> bool:
    if isinstance(thing, BaseModel | dict):
        return True
    return dataclasses.is_dataclass(thing) and not isinstance(thing, type)


def _describe_type(thing: Any) -> str:
    return "None" if thing is None else f"a {type(thing).__name__}"


def _step_name(thing: Any) -> str:
    return getattr(thing, "__name__", type(thing).__name__)


def _describe_failure(name: str, error: BaseException) -> str:
    """What a step raised, for the ledger: its name, and the traceback from its own frame down."""
    return f"in the pipeline step {name}:\n{traceback_text(error, __file__)}"


def _adapt_step(thing: Any) -> tuple[str, Callable[[Any, Any], Any]]:
    """A step as a function of item and spider, with its name for reasons."""
    if hasattr(thing, "process_item"):
        return type(thing).__name__, thing.process_item
    name = _step_name(thing)
    if len(inspect.signature(thing).parameters) >= 2:
        return name, thing
    return name, lambda item, _spider: thing(item)


def _from_model(item: BaseModel) -> tuple[str, dict[str, Any], bytes]:
    """A model was checked when it was made, so only misfits and what was assigned later need it again."""
    kind = type(item).__name__
    is_flat = SCALARS.issuperset(map(type, item.__dict__.values()))
    if not is_flat:
        check_shape(kind, item.__dict__)
    values = clean_dict(item.__dict__)
    if isinstance(item, Item) and is_misfit(item):
        item = revalidate_item(item, values)
    elif values is not item.__dict__:
        item = item.model_copy(update=values)
    elif is_flat and isinstance(item, Item):
        # Nothing in it can have changed its type since. (To look for that costs 25 times as much
        # beside another busy thread: pydantic's core lets go of the interpreter lock for it.)
        return kind, values, item.__pydantic_serializer__.to_json(item)
    try:
        data = item.__pydantic_serializer__.to_json(item, warnings="error")
    except PydanticSerializationError:  # a value of another type was assigned
        item = revalidate_item(item, values)
        try:
            data = item.__pydantic_serializer__.to_json(item)
        except PydanticSerializationError as error:
            raise unstorable_error(kind, "", str(error)) from None
    return kind, item.__dict__, data


def _from_dataclass(item: Any) -> tuple[str, dict[str, Any], bytes]:
    cls: type = type(item)
    kind = cls.__name__
    fields = [field.name for field in dataclasses.fields(item)]
    given = {name: getattr(item, name) for name in fields}
    check_shape(kind, given)
    checked = checked_dataclass(item, clean_dict(given))
    serialise = adapter_for(cls)
    if serialise is None:
        return kind, *_from_dict(kind, checked)
    try:
        data = serialise.dump_json(checked)
    except PydanticSerializationError as error:
        raise unstorable_error(kind, "", str(error)) from None
    return kind, {name: getattr(checked, name) for name in fields}, data


def _from_dict(kind: str, item: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    check_shape(kind, item)
    values = clean_dict(item)
    check_plain(kind, values)
    try:
        return values, _encode(values)
    except (TypeError, ValueError, RecursionError) as error:
        raise unstorable_error(kind, "", str(error)) from None


def _item_key(kind: str, item_type: type, values: dict[str, Any], data: bytes) -> str:
    names = key_fields(item_type)
    if not names:
        return content_key(data)
    text = key_text([values[name] for name in names])
    if text is None:
        raise drop_error(kind, " and ".join(names), "the key is empty")
    return text
