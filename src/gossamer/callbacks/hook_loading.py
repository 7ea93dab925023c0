"""Loads the hooks of a spider: finds them by name, creates them, and collects their methods."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gossamer.core.errors import UsageError
from gossamer.core.record import Record
from gossamer.runtime.named_code import find_named
from gossamer.spiders.spider import HOOK_METHODS, Spider

_ARGUMENTS = {"on_error": 2, "on_output": 2}
_KINDS = ", ".join(f"{name}()" for name in HOOK_METHODS)


class Hook(Record, frozen=True):
    """One hook, ready to be called."""

    name: str  # in errors
    thing: Any  # may have ``open_spider`` and ``close_spider``
    calls: Mapping[str, Callable[..., Any]]  # by the names in ``HOOK_METHODS``


def load_hooks(spider: Spider, names: Sequence[str] = ()) -> list[Hook]:
    """Return the hooks of a spider in the order in which requests pass them.

    The spider itself comes first, then its ``hooks``, then those of the settings (``names``). Raises
    ``UsageError`` for an invalid hook, and the errors of its constructor.
    """
    own = own_calls(spider)
    first = [Hook(spider.name, None, own)] if own else []
    listed = spider.hooks
    if isinstance(listed, str) or not isinstance(listed, Sequence):
        listed = (listed,)
    return first + [_make_hook(hook, spider) for hook in (*listed, *names)]


def own_calls(spider: Spider) -> dict[str, Callable[..., Any]]:
    """Return the hook methods of the spider itself.

    Callbacks and errbacks may have the same names: a callback yields, and an errback takes only the failure.
    """
    found = {}
    for name in HOOK_METHODS:
        call = getattr(spider, name, None)
        if callable(call) and (name != "on_response" or not _yields(call)):
            if name == "on_error" and not _takes(call, 2):
                continue
            found[name] = call
    return found


def _yields(call: Callable[..., Any]) -> bool:
    return inspect.isgeneratorfunction(call) or inspect.isasyncgenfunction(call)


def _takes(call: Callable[..., Any], count: int) -> bool:
    """Whether a function accepts this many arguments; some functions written in C do not say."""
    try:
        inspect.signature(call).bind(*range(count))
    except TypeError:
        return False
    except ValueError:
        return True
    return True


def _make_hook(said: Any, spider: Spider) -> Hook:
    thing = _find_hook(said, spider) if isinstance(said, str) else said
    name = str(getattr(thing, "__name__", type(thing).__name__))
    if isinstance(thing, type):
        thing = thing()
    calls = {method: call for method in HOOK_METHODS if callable(call := getattr(thing, method, None))}
    if not calls and callable(thing):  # a function is for requests
        calls = {"on_request": thing}
    if not calls:
        raise UsageError(f"the hook {name!r} has none of {_KINDS}, and is not a function: it cannot run")
    for method, call in calls.items():
        if not _takes(call, _ARGUMENTS.get(method, 1)):
            said_by = {
                "on_error": "request, failure",
                "on_output": "response, output",
                "on_start": "requests",
            }
            wanted = said_by.get(method, method.removeprefix("on_"))
            raise UsageError(f"the hook {name!r} cannot be called as {method}({wanted})")
    return Hook(name, thing, calls)


def _find_hook(text: str, spider: Spider) -> Any:
    """Return the class, function or object that a text names. Raises ``UsageError``."""
    if ":" not in text:
        raise UsageError(f"the hook {text!r} is not written as module:Name")
    try:
        return find_named(text, spider)
    except (ImportError, AttributeError, ValueError) as error:
        raise UsageError(f"the hook {text!r} cannot be imported: {error}") from error
