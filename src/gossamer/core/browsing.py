"""Steps to take on a page in a browser, as data: stored with the request, run by any worker.

``Browsing`` is what users write. The order is always the same: the page is loaded (``wait_until``),
``wait_for`` appears, ``wait_s`` pass, the ``actions`` are performed one after the other, and at last the
spider's own ``script`` runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, get_args

import msgspec

from gossamer.core.errors import Fault, UsageError
from gossamer.core.json_text import decode_charset, read_json
from gossamer.core.record import Record
from gossamer.core.storable import as_base_type, callback_name, check_size, without_surrogates

LoadState = Literal["commit", "domcontentloaded", "load"]
"""How far a page has been loaded: its answer has begun, its tree is there, all that belongs to it is."""
PageState = Literal[LoadState, "networkidle"]
"""How far a page has to be; ``networkidle``: it made no request for half a second."""
DialogAnswer = Literal["dismiss", "accept"]
STEP_S = 10.0
"""Default limit for a wait or an action, in seconds."""
MAX_STEPS = 1000
"""Actions on one page, and patterns of ``capture``."""


class Action(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="do"):
    """The base class of actions. Selectors are CSS or Playwright's own (``text=More``)."""

    def __post_init__(self) -> None:
        _check_fields(self)

    def describe(self) -> str:
        """Describe the action without the text it types, which may be secret."""
        selector = getattr(self, "selector", "")
        word = str(self.__struct_config__.tag)
        return f"{word} {selector!r}" if selector else word


class Click(Action, frozen=True, tag="click"):
    """Click the first element that matches, as soon as it can be clicked."""

    selector: str  # CSS, or another selector of Playwright (``text=More``)
    optional: bool = False  # skip the click if there is no such element at that moment
    human: bool | None = None  # move the pointer as a person does; ``None``: as ``human`` of the page
    popup: bool = False  # continue in the window that the click opens


class Type(Action, frozen=True, tag="type"):
    """Type a text into a field, key by key, after clearing it."""

    selector: str  # the field
    text: str  # the text; logs never show it
    human: bool | None = None  # type in the rhythm of a person; ``None``: as ``human`` of the page

    def __repr__(self) -> str:
        return f"Type({self.selector!r}, ...)"


class Press(Action, frozen=True, tag="press"):
    """Press one key or a combination, by Playwright's names: ``Enter``, ``Control+A``."""

    key: str  # name of the key or combination
    selector: str = ""  # element to focus first; empty: keep the focus

    def describe(self) -> str:
        """The action in words."""
        return f"press {self.key}"


class Scroll(Action, frozen=True, tag="scroll"):
    """Scroll down by one window, or to the end of a page that loads more."""

    until_still: bool = False  # scroll until the page loads nothing new
    max_scrolls: int = 50  # maximum with ``until_still``; a page that still grows gets a flag
    still_s: float = 1.0  # seconds without news or requests after which the page counts as complete
    selector: str = ""  # element to scroll; empty: the window, or the largest element that scrolls
    collect: str = ""  # CSS selector of elements to keep when the page removes them
    human: bool | None = None  # scroll by strokes of a wheel; ``None``: as ``human`` of the page


class Wait(Action, frozen=True, tag="wait"):
    """Wait for an element, for a time, or for a condition; give exactly one of them."""

    selector: str = ""  # element that has to be visible
    seconds: float = 0.0  # time to wait
    condition: str = ""  # JavaScript expression that has to become true: ``window.app?.ready``

    def __post_init__(self) -> None:
        _check_fields(self)
        if bool(self.selector) + bool(self.seconds) + bool(self.condition) != 1:
            raise UsageError("Wait takes either selector=..., seconds=... or condition=...")

    def describe(self) -> str:
        """The action in words."""
        return f"wait for {self.condition!r}" if self.condition else super().describe()


class Screenshot(Action, frozen=True, tag="screenshot"):
    """Take a screenshot: ``response.screenshot``. A later one replaces it."""

    full_page: bool = False  # the whole page, not just the window


class Pdf(Action, frozen=True, tag="pdf"):
    """Print the page to PDF: ``response.pdf``. A later one replaces it."""

    background: bool = True  # print background colours and pictures


AnyAction = Click | Type | Press | Scroll | Wait | Screenshot | Pdf


class Browsing(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Steps of a browser on a page, in the order of the attributes, before the callback gets the page.

    If a step fails, the request fails with the fault ``missing`` and is retried. All arguments are keywords.
    """

    wait_until: PageState = "load"  # state to wait for first; ``networkidle``: no request for half a second
    wait_for: str = ""  # selector of an element that has to become visible
    wait_s: float = 0.0  # seconds to wait after that
    actions: tuple[AnyAction, ...] = ()  # actions, one after the other
    script: str = ""  # the spider's method ``async def script(self, page)``, which gets Playwright's page
    capture: tuple[str, ...] = ()  # URLs whose responses to keep, with ``*`` for any text: ``*/api/*``
    step_timeout_s: float = STEP_S  # maximum seconds of a step; ``browser.timeout`` limits all together
    human: bool | None = None  # act as a person does; ``None``: as the setting ``browser.human``
    dialogs: DialogAnswer = "dismiss"  # answer to alerts and prompts; ``accept``: with the default

    if TYPE_CHECKING:  # lists become tuples

        def __init__(
            self,
            *,
            wait_until: PageState = "load",
            wait_for: str = "",
            wait_s: float = 0.0,
            actions: Sequence[AnyAction] = (),
            script: str | Callable[..., Any] = "",
            capture: Sequence[str] = (),
            step_timeout_s: float = STEP_S,
            human: bool | None = None,
            dialogs: DialogAnswer = "dismiss",
        ) -> None: ...

    def __post_init__(self) -> None:
        become = msgspec.structs.force_setattr
        if self.script and type(self.script) is not str:
            become(self, "script", callback_name(self.script, "script"))
        for name, kind in (("actions", Action), ("capture", str)):
            become(self, name, _check_list(name, getattr(self, name), kind))
        _check_fields(self)
        for name, words in (("wait_until", get_args(PageState)), ("dialogs", get_args(DialogAnswer))):
            if getattr(self, name) not in words:
                known = ", ".join(words)
                raise UsageError(f"{name} of Browsing is one of {known}, not {getattr(self, name)!r}")
        if not self.step_timeout_s:
            raise UsageError("step_timeout_s of Browsing must be more than 0")

    @property
    def is_plain(self) -> bool:
        """Whether there is nothing to do but to load the page."""
        return not (self.wait_for or self.wait_s or self.actions or self.script or self.capture)


class PageFailure(Record, frozen=True, kw_only=True):
    """A failed step on a page that loaded."""

    fault: Fault  # ``MISSING``: something did not appear in time; ``CALLBACK``: the spider's own fault
    detail: str  # for people: which step, and what happened


class PageStepError(Exception):
    """Raised by a spider's own function for what did not appear on a page in time: it is tried again."""


class CapturedResponse(Record, frozen=True, kw_only=True):
    """A response to a request of the page itself, kept by ``Browsing(capture=[...])``."""

    url: str  # URL of the request
    status: int  # HTTP status
    content_type: str = ""  # value of the header Content-Type
    body: bytes = b""  # the body, decompressed
    is_cut: bool = False  # whether the body is missing, since it exceeds ``browser.max_capture_bytes``

    @property
    def text(self) -> str:
        """The body as text, decoded as UTF-8 or else with the charset of the header."""
        return decode_charset(self.body, self.content_type)

    def json(self) -> Any:
        """Decode the body as JSON. Raises ``ValueError``, with the place of the error."""
        return read_json(self.body, self.url, lambda: self.text)


def check_browsing(value: Any, name: str) -> None:
    """Raise :class:`UsageError` unless the value is a ``Browsing``."""
    if not isinstance(value, Browsing):
        raise UsageError(f"{name} must be a Browsing(...), not {value!r}")


# --------------------------------------------------------------------------- checking


def _check_list(name: str, value: Any, kind: type) -> tuple[Any, ...]:
    if isinstance(value, str) or not isinstance(value, list | tuple):
        raise UsageError(f"{name} of Browsing must be a list, not {value!r}")
    if len(value) > MAX_STEPS:
        raise UsageError(f"{name} of Browsing has {len(value):,} entries; there can be {MAX_STEPS:,}")
    for index, entry in enumerate(value):
        if not isinstance(entry, kind) or type(entry) is Action:
            wanted = "an action such as Click(...)" if kind is Action else "a string"
            raise UsageError(f"{name}[{index}] of Browsing must be {wanted}, not {entry!r}")
    if kind is str:
        return tuple(_check_text(f"{name}[{i}] of Browsing", entry) for i, entry in enumerate(value))
    return tuple(value)


def _check_fields(record: msgspec.Struct) -> None:
    """Bring each field into its stored form, by the type of its default. Raises :class:`UsageError`."""
    kind = type(record)
    for field, default in _defaults_of(kind):
        value, name = getattr(record, field), f"{field} of {kind.__name__}"
        checked = _CHECKS[type(default)](name, value)
        if checked is not value:
            msgspec.structs.force_setattr(record, field, checked)
        if default is msgspec.NODEFAULT and not checked:
            raise UsageError(f"{name} must not be empty")


@cache
def _defaults_of(kind: type[msgspec.Struct]) -> tuple[tuple[str, Any], ...]:
    """The fields of a record that hold one value each, with their defaults."""
    fields = msgspec.structs.fields(kind)
    return tuple((field.name, field.default) for field in fields if type(field.default) is not tuple)


def _check_text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise UsageError(f"{name} must be a string, not {type(value).__name__}")
    check_size(name, len(value))
    return without_surrogates(as_base_type(value))


def _check_seconds(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise UsageError(f"{name} must be a number of seconds, not {value!r}")
    return float(value)


def _check_count(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value < 2**31:
        raise UsageError(f"{name} must be a whole number from 1, not {value!r}")
    return int(value)


def _check_truth(name: str, value: Any) -> bool:
    if type(value) is not bool:
        raise UsageError(f"{name} must be True or False, not {value!r}")
    return value


def _check_choice(name: str, value: Any) -> bool | None:
    return None if value is None else _check_truth(name, value)


_CHECKS: dict[type, Any] = {
    type(msgspec.NODEFAULT): _check_text,
    str: _check_text,
    float: _check_seconds,
    int: _check_count,
    bool: _check_truth,
    type(None): _check_choice,
}
"""How a field is checked, by the type of its default; a field without one is text."""
