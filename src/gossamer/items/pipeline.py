"""Turns the values that a spider yields into records for the store.

The order: the user's own steps, then cleaning, validation, required fields, key. Steps of a later order see
items that are clean and valid, and the items are checked again after them. An item that a step drops, or that
does not match its type, is dropped alone, with a short reason. If a step fails because a server is away, the
page fails: nothing of it is stored, and it is retried. Any other failure of a step is a bug, as is an item
that cannot be stored: the page becomes a dead letter, and its other items are stored.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from importlib import import_module
from types import FrameType
from typing import Any

import msgspec
from msgspec.structs import replace
from pydantic import BaseModel
from pydantic_core import PydanticSerializationError

from gossamer.core.errors import DropItem, PipelineError, UnstorableItemError
from gossamer.core.foreign import ForeignItem
from gossamer.core.results import PLAIN_TYPE, ItemRecord
from gossamer.core.stages import StageOrder
from gossamer.items.clean import (
    ESCAPED_NUL,
    clean_dict,
    clean_json,
    dataclass_values,
    model_values,
    with_sorted_sets,
)
from gossamer.items.item import Item, file_fields, is_misfit, key_fields
from gossamer.items.keys import content_hash, content_key, key_text
from gossamer.items.stages import Options, Step, load_steps
from gossamer.items.typed import check_item, describe_stranger
from gossamer.items.validate import (
    MAX_ITEM_BYTES,
    MAX_REASON,
    SCALARS,
    adapter_for,
    check_finite,
    check_plain,
    check_required,
    check_shape,
    checked_dataclass,
    checks_numbers,
    drop_error,
    revalidate_item,
    unstorable_error,
)
from gossamer.policy.faults import may_pass
from gossamer.policy.urls import DEFAULT_OPTIONS, UrlOptions
from gossamer.runtime.user_code import await_value, ends_task, traceback_text

_EARLY = (StageOrder.CLEAN, StageOrder.VALIDATE)
_LATE = (StageOrder.DEDUPLICATE, StageOrder.ENRICH)


def _encode_model(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    raise TypeError(f"a {type(value).__name__} cannot be stored as JSON")


_encode = msgspec.json.Encoder(enc_hook=_encode_model).encode


class DefaultPipeline:
    """The :class:`~gossamer.ports.pipeline.Pipeline` of every crawl.

    ``steps`` run first, in their order, as :func:`~gossamer.items.stages.load_steps` takes them: functions,
    or objects (or classes) with ``process_item(item, spider)``, ``async`` or not, as in Scrapy. Each returns
    the item or raises ``DropItem``; one that waits longer than ``timeout_s`` seconds has failed. One that has
    an ``order`` of ``DEDUPLICATE`` or later runs on items that are valid, and one of ``STORE`` is given the
    record (``process_record(record, spider)``) and changes nothing. ``options`` are settings of steps by
    their names. ``require_fields`` names fields that no item may lack; ``url_options`` say how URLs of files
    are written.
    """

    def __init__(
        self,
        *,
        require_fields: Sequence[str] = (),
        steps: Sequence[Any] = (),
        spider: Any = None,
        timeout_s: float = 60.0,
        options: Options | None = None,
        url_options: UrlOptions = DEFAULT_OPTIONS,
    ) -> None:
        self._url_options = url_options
        self._required = tuple(require_fields)
        self._spider = spider
        self._timeout_s = timeout_s
        loaded = load_steps(steps, spider, options or {})
        self._all_steps = loaded
        self._steps = [step for step in loaded if step.order in _EARLY]
        self._late_steps = [step for step in loaded if step.order in _LATE]
        self._lookers = [step for step in loaded if step.order is StageOrder.STORE]
        self._is_plain = not self._late_steps and not self._lookers
        self._opened: list[Step] = []

    async def open_steps(self) -> None:
        """Call ``open_spider`` of the steps that have it. If one raises, those already open are closed."""
        for step in self._all_steps:
            try:
                if method := getattr(step.thing, "open_spider", None):
                    await await_value(method(self._spider), self._timeout_s)
            except BaseException:
                await self.close_steps()
                raise
            self._opened.append(step)

    async def close_steps(self) -> list[str]:
        """Call ``close_spider`` of the steps that were opened, whatever one of them raises.

        The tracebacks of those that failed, each after a line that names the step.
        """
        opened, self._opened = self._opened, []
        failures = []
        for step in opened:
            name = f"{step.name}.close_spider()"
            try:
                if method := getattr(step.thing, "close_spider", None):
                    await await_value(method(self._spider), self._timeout_s)
            except BaseException as error:
                if ends_task(error):
                    raise
                failures.append(_describe_failure(name, error))
        return failures

    async def process(self, item: Any, url: str, page: Any = None) -> ItemRecord:
        """Return the record to store.

        Raises :class:`DropItem` with the reason, :class:`PipelineError` or :class:`UnstorableItemError`.
        """
        for step in self._steps:
            item = await self._run(step, item, url, page)
        try:
            if self._is_plain:
                return self._make_record(item, url, page)
            if self._late_steps:
                item = check_item(item)
        except DropItem as error:
            raise self._name_source(error, item, page) from None
        except UnstorableItemError:
            raise
        except BaseException as error:
            raise _slip_of(item, error) from error
        return await self._process_late(item, url, page)

    async def _process_late(self, item: Any, url: str, page: Any) -> ItemRecord:
        """The record of an item that passes steps which see it valid, and others that see its record."""
        for step in self._late_steps:
            item = await self._run(step, item, url, page)
        try:
            record = self._make_record(item, url, page)
        except DropItem as error:
            raise self._name_source(error, item, page) from None
        except UnstorableItemError:
            raise
        except BaseException as error:
            raise _slip_of(item, error) from error
        for step in self._lookers:
            await self._run(step, record, url, page)
        return record

    def _name_source(self, dropped: DropItem, item: Any, page: Any) -> DropItem:
        """Return the same error, with the expression of the spider that found nothing, where it is known."""
        if not dropped.empty_field or page is None or self._spider is None:
            return dropped
        explain = import_module("gossamer.items.field_source").explain_empty_field  # seldom needed
        kind = PLAIN_TYPE if isinstance(item, dict) else type(item).__name__
        why = explain(self._spider, page.request.callback or "parse", kind, dropped.empty_field)
        return drop_error(kind, dropped.empty_field, why) if why else dropped

    async def _run(self, step: Step, item: Any, url: str, page: Any) -> Any:
        """Run one step; ``find_step`` finds its name and the page's URL in this frame."""
        try:
            if step.takes_page:
                result = step.call(item, *step.arguments, page=page)
            else:
                result = step.call(item, *step.arguments)
            result = await await_value(result, self._timeout_s)
        except DropItem as error:
            dropped = DropItem((str(error) or f"dropped by {step.name}")[:MAX_REASON])
            dropped.stage = step.name
            raise dropped from None
        except BaseException as error:
            if ends_task(error):
                raise
            raise PipelineError(_describe_failure(step.name, error), may_pass=may_pass(error)) from error
        if not _is_item(result) and step.order is not StageOrder.STORE:
            way = ": a step returns the item" if result is None else ""
            raise PipelineError(f"{step.name} returned {_describe_type(result)}, which is not an item{way}")
        return result

    def _make_record(self, item: Any, url: str, page: Any) -> ItemRecord:
        """Return the record, with the files that it names."""
        kind: type = type(item)
        fields = file_fields(kind)
        if not fields:
            return self.build_record(item, url)
        room = import_module("gossamer.items.file_refs")  # which most spiders do without
        item, files = room.resolve_files(item, fields, url, page, self._url_options)
        return replace(self.build_record(item, url), files=files)

    def build_record(self, item: Any, url: str) -> ItemRecord:
        """Return the same without the steps."""
        if isinstance(item, BaseModel):
            kind, values, data = _from_model(item)
        elif isinstance(item, dict):
            kind, values, data = PLAIN_TYPE, *_from_dict(PLAIN_TYPE, item)
        elif isinstance(item, ForeignItem):
            kind, values, data = _from_foreign(item)
        elif _is_item(item):
            kind, values, data = _from_dataclass(item)
        else:
            raise UnstorableItemError(describe_stranger(item))
        if ESCAPED_NUL in data:
            data = clean_json(data)
        if len(data) > MAX_ITEM_BYTES:
            raise unstorable_error(kind, "", f"more than {MAX_ITEM_BYTES // 2**20} MiB as JSON")
        if self._required:
            check_required(kind, values, self._required)
        return ItemRecord(
            type=kind,
            key=item.key if isinstance(item, ForeignItem) else _item_key(kind, type(item), values, data),
            data=data,
            hash=content_hash(data),
            url=url,
        )


def find_step(frame: FrameType) -> tuple[str, str] | None:
    """Return the step that a frame has called, in words, and the URL of the item's page.

    ``None``: it is a frame of something else. For the watchdog, which asks while the step runs.
    """
    called = frame.f_locals
    if frame.f_code is DefaultPipeline._run.__code__:
        return f"the pipeline step {called['step'].name} on an item of", called["url"]
    if frame.f_code is DefaultPipeline.process.__code__:
        return "an item of", called["url"]
    return None


def _slip_of(item: Any, error: BaseException) -> BaseException:
    """Return the exception for an error in validators, serialisers and values of the spider's items."""
    if ends_task(error):
        return error
    return UnstorableItemError(f"{_describe_type(item)}: {traceback_text(error, __file__)}")


def _is_item(thing: Any) -> bool:
    if isinstance(thing, BaseModel | dict | ForeignItem):
        return True
    return dataclasses.is_dataclass(thing) and not isinstance(thing, type)


def _describe_type(thing: Any) -> str:
    return "None" if thing is None else f"a {type(thing).__name__}"


def _describe_failure(name: str, error: BaseException) -> str:
    """Return the step's name and the traceback from its own frame down, for the ledger."""
    told = traceback_text(error, __file__)
    between = "\n" if "\n" in told.rstrip() else " "  # one line serves as its headline
    return f"in the pipeline step {name}:{between}{told}"


def _from_model(item: BaseModel) -> tuple[str, dict[str, Any], bytes]:
    """Convert a model. It was checked when it was made, so only misfits and later assignments are checked
    again."""
    kind = type(item).__name__
    given = model_values(item)
    is_flat = SCALARS.issuperset(map(type, given.values()))
    has_sets = not is_flat and check_shape(kind, given)
    values = clean_dict(given)
    if isinstance(item, Item) and is_misfit(item):
        item = revalidate_item(item, values)
    elif values is not given:
        item = item.model_copy(update=values)
    elif is_flat and isinstance(item, Item) and checks_numbers(type(item)):
        # Nothing in it can have changed its type since. (To look for that costs 25 times as much
        # beside another busy thread: pydantic's core lets go of the interpreter lock for it.)
        return kind, values, item.__pydantic_serializer__.to_json(item)
    try:
        data = item.__pydantic_serializer__.to_json(item, warnings="error")
    except PydanticSerializationError:  # a value of another type was assigned
        item = revalidate_item(item, model_values(item))
        try:
            data = item.__pydantic_serializer__.to_json(item)
        except PydanticSerializationError as error:
            raise _not_serialised(item, str(error)) from None
    check_finite(kind, model_values(item))
    if has_sets:
        data = item.__pydantic_serializer__.to_json(with_sorted_sets(item), warnings=False)
    return kind, model_values(item), data


def _not_serialised(item: BaseModel, told: str) -> UnstorableItemError:
    """Return the error that names the field whose value has no JSON, such as undecodable bytes."""
    kind, serialiser = type(item).__name__, item.__pydantic_serializer__
    for name in type(item).model_fields:
        try:
            serialiser.to_json(item, include={name})
        except PydanticSerializationError as error:
            return unstorable_error(kind, name, str(error))
    return unstorable_error(kind, "", told)


def _from_dataclass(item: Any) -> tuple[str, dict[str, Any], bytes]:
    cls: type = type(item)
    kind = cls.__name__
    given = dataclass_values(item)
    has_sets = check_shape(kind, given)
    checked = checked_dataclass(item, clean_dict(given))
    values = dataclass_values(checked)
    serialise = adapter_for(cls)
    if serialise is None:
        return kind, *_from_dict(kind, values)
    check_finite(kind, values)
    try:
        data = serialise.dump_json(checked)
        if has_sets:
            data = serialise.dump_json(with_sorted_sets(checked), warnings=False)
    except PydanticSerializationError as error:
        raise unstorable_error(kind, "", str(error)) from None
    return kind, values, data


def _from_foreign(item: ForeignItem) -> tuple[str, dict[str, Any], bytes]:
    """Convert another framework's item. Only a value that cannot be stored is an error."""
    kind, values = item.kind, item.to_values()
    has_sets = check_shape(kind, values)
    try:
        return kind, values, _encode(with_sorted_sets(values) if has_sets else values)
    except (TypeError, ValueError, RecursionError, OverflowError) as error:
        raise unstorable_error(kind, "", str(error)) from None


def _from_dict(kind: str, item: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    has_sets = check_shape(kind, item)
    values = clean_dict(item)
    check_plain(kind, values)
    try:
        return values, _encode(with_sorted_sets(values) if has_sets else values)
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
