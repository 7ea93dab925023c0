"""The stages of a pipeline: found by name, made with their settings, and put in order."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import entry_points
from typing import Any

from gossamer.core.errors import UsageError
from gossamer.core.record import Record
from gossamer.core.stages import StageOrder
from gossamer.runtime.named_code import find_named

GROUP = "gossamer.stages"
"""The entry points with which installed packages bring stages."""
BUILT_IN = {
    "drop-duplicates": "gossamer.items.built_in.duplicates:DuplicateFilter",
    "keep-sources": "gossamer.items.built_in.sources:SourceKey",
}
ORDERS = tuple(StageOrder)
Options = Mapping[str, Mapping[str, Any]]
"""The settings of stages by the name of the stage."""


class Step(Record, frozen=True, kw_only=True):
    """One stage, ready to be called: ``call(item, *arguments)``, with ``page=`` where it takes one."""

    name: str  # in reasons and errors
    order: StageOrder
    thing: Any  # may have ``open_spider`` and ``close_spider``
    call: Callable[..., Any]
    arguments: tuple[Any, ...] = ()  # the spider, if the stage takes it
    takes_page: bool = False


def load_steps(stages: Sequence[Any], spider: Any, options: Options) -> list[Step]:
    """Return the stages of a spider in order; equal orders keep the order of the list.

    A stage is a function ``stage(item)`` or ``stage(item, spider)``, an object (or class) with
    ``process_item(item, spider)``, or text that names one: ``module:Name``, a built-in stage, or an entry
    point of ``gossamer.stages``. A parameter ``page`` gets the response. A class is instantiated with its
    options, by ``from_settings(options, spider)`` where it has that. Raises ``UsageError`` for any other
    value, and the errors of the constructor.
    """
    steps = [_adapt_step(*_make_stage(stage, spider, options), spider) for stage in stages]
    return sorted(steps, key=lambda step: ORDERS.index(step.order))


def name_of(stage: Any) -> str:
    """Return a stage's name in the settings: the text that names it, or its class's or function's name."""
    if isinstance(stage, str):
        return stage
    return str(getattr(stage, "__name__", type(stage).__name__))


def _make_stage(stage: Any, spider: Any, options: Options) -> tuple[str, Any]:
    """Return the name of a stage, and the object or function itself."""
    given = dict(options.get(name_of(stage), {}))
    thing = _find_stage(stage, spider) if isinstance(stage, str) else stage
    name = name_of(thing)
    if isinstance(thing, type):
        make = getattr(thing, "from_settings", None)
        try:
            return name, thing(**given) if make is None else make(given, spider)
        except TypeError as error:
            if given or isinstance(stage, str):
                raise UsageError(
                    f"the stage {name_of(stage)!r} cannot be made of its options "
                    f"([pipeline.options.{name_of(stage)}]): {error}"
                ) from error
            raise
    if given:
        raise UsageError(f"the stage {name_of(stage)!r} takes no options: only a class does")
    return name, thing


def _find_stage(text: str, spider: Any) -> Any:
    """Return the class, function or object that a text names. Raises ``UsageError``."""
    place = BUILT_IN.get(text, text)
    if ":" in place:
        try:
            return find_named(place, spider)
        except (ImportError, AttributeError, ValueError) as error:
            raise UsageError(f"the stage {text!r} cannot be imported: {error}") from error
    installed = {point.name: point for point in entry_points(group=GROUP)}
    if text not in installed:
        names = ", ".join(sorted({*BUILT_IN, *installed}))
        module, _, name = text.rpartition(".")
        meant = f"; is '{module}:{name}' meant?" if module else ""
        raise UsageError(f"unknown stage {text!r}{meant}; there are {names}, and any that module:Name names")
    return installed[text].load()


def _adapt_step(name: str, thing: Any, spider: Any) -> Step:
    order = _order_of(name, thing)
    method = "process_record" if order is StageOrder.STORE else "process_item"
    call = getattr(thing, method, None)
    if call is None and (not callable(thing) or hasattr(thing, "process_item")):
        raise UsageError(
            f"the stage {name!r} is neither a function nor an object with {method}(): it cannot run"
        )
    is_method = call is not None
    call = thing if call is None else call
    names = _parameters_of(call)
    takes_spider = is_method or len(set(names) - {"page"}) >= 2
    return Step(
        name=name,
        order=order,
        thing=thing,
        call=call,
        arguments=(spider,) if takes_spider else (),
        takes_page="page" in names,
    )


def _order_of(name: str, thing: Any) -> StageOrder:
    order = getattr(thing, "order", StageOrder.CLEAN)
    try:
        return StageOrder(order)
    except ValueError:
        raise UsageError(
            f"the stage {name!r} has the order {order!r}; there are {', '.join(ORDERS)}"
        ) from None


def _parameters_of(call: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of a stage's parameters; some functions written in C have none."""
    try:
        return tuple(inspect.signature(call).parameters)
    except ValueError:
        return ("item",)
