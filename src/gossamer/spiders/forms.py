"""From a form on a page to the request that sends it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gossamer.core.errors import UsageError
from gossamer.core.form_encoding import FormFile, FormValue, encode_fields, encode_form
from gossamer.core.request_options import form_value_of
from gossamer.core.requests import Request
from gossamer.parse.charset_codecs import codec_for
from gossamer.parse.encoding import encoding_named
from gossamer.parse.forms import FormButton, PageForm, choose_form, read_forms
from gossamer.policy.urls import origin_of
from gossamer.spiders.page_links import check_link

Value = str | int | float | bool | FormFile
Filling = Mapping[str, "Value | Iterable[Value] | None"]
"""Values by the names of their fields; several for a field that is there several times, ``None`` for none."""


def request_for_form(
    response: Any,
    data: Filling | None = None,
    callback: Any = None,
    *,
    css: str = "",
    number: int | None = None,
    click: str | bool = True,
    **options: Any,
) -> Request:
    """Make the request of ``response.form``, with its arguments. Raises ``ValueError``."""
    if "method" in options or "body" in options:
        raise UsageError("the form says how it is sent: leave out method and body")
    if data is not None and not isinstance(data, Mapping):
        raise UsageError(f"the data for a form is a dict of values by name, not a {type(data).__name__}")
    form, button = _choose_form(response, data or {}, css=css, number=number, click=click)
    encoding = _charset_for(form, response.encoding)
    fields = _fill_form(form, data or {}, button, encoding)
    action = form.action if button is None or button.action is None else button.action
    method = (button.method if button is not None else None) or form.method
    enctype = (button.enctype if button is not None else None) or form.enctype
    if method == "DIALOG":
        raise ValueError(f"the form of {response.url} closes a dialog: it is not sent")
    url = check_link(response.urljoin(action)) if action.strip() else response.url
    options = response.in_session(options)
    headers = {"Referer": _referer_for(response.url, url), **options.pop("headers", {})}
    if method == "GET":
        named = [(name, value if isinstance(value, str) else value.name) for name, value in fields]
        target = url.partition("#")[0].partition("?")[0]
        return Request(
            f"{target}?{encode_fields(named, codec_for(encoding))}", callback, headers=headers, **options
        )
    body, headers["Content-Type"] = encode_form(fields, enctype, codec_for(encoding))
    return Request(url, callback, method="POST", headers=headers, body=body, **options)


def _choose_form(
    response: Any, data: Filling, *, css: str, number: int | None, click: str | bool
) -> tuple[PageForm, FormButton | None]:
    """Return the form to send, and its button."""
    forms = read_forms(response.selector, css or "form")
    if not forms:
        raise ValueError(f"{response.url} has no form" + (f" that is {css!r}" if css else ""))
    if number is not None:
        if not -len(forms) <= number < len(forms):
            raise ValueError(f"{response.url} has no form number {number}: there are {len(forms)}, from 0 on")
        forms = [forms[number]]
    if isinstance(click, str):
        elements = {found.root for found in response.selector.css(click)}
        pairs = [(form, one) for form in forms for one in form.buttons if one.element in elements]
        if not pairs:
            labels = ", ".join(repr(one.label) for form in forms for one in form.buttons) or "none"
            raise ValueError(f"no form of {response.url} has the button {click!r}; there are: {labels}")
        return pairs[0]
    form = choose_form(forms, data)
    assert form is not None, "there is one"
    return form, next(iter(form.buttons), None) if click else None


def _fill_form(
    form: PageForm, data: Filling, button: FormButton | None, encoding: str
) -> list[tuple[str, FormValue]]:
    """Return the fields in the order of the page, then those that only ``data`` names."""
    sent: list[tuple[str, FormValue]] = []
    filled: set[str] = set()
    choices = {
        name: [one.choice for one in form.controls if one.name == name and one.choice] for name in data
    }
    for control in form.controls:
        name = control.name
        if control.button is not None and control.button is not button:
            continue
        if name in data:
            if name not in filled:
                filled.add(name)
                sent += [(name, one) for one in _values_of(name, data[name], choices[name])]
        elif control.kind == "file":
            sent.append((name, FormFile()))
        elif control.kind == "hidden" and name.lower() == "_charset_":
            sent.append((name, encoding))
        else:
            sent += [(name, value) for value in control.values]
    for name, given in data.items():
        if name not in filled:
            sent += [(name, one) for one in _values_of(name, given, choices[name])]
    return sent


def _values_of(name: str, given: Value | Iterable[Value] | None, choices: list[str]) -> list[FormValue]:
    if given is None or given is False:
        return []
    if given is True:
        if not choices:
            raise ValueError(f"the form has no checkbox {name!r}, so {name}=True says nothing to it")
        return [*choices]
    if isinstance(given, FormFile | str):
        return [given]
    values: Iterable[Any] = [given]
    if isinstance(given, Iterable) and not isinstance(given, Mapping | bytes):
        values = given
    return [
        one if isinstance(one, FormFile) else form_value_of(name, one) for one in values if one is not None
    ]


def _charset_for(form: PageForm, page: str) -> str:
    """The first charset that the form accepts, else the page's; UTF-8 in the place of UTF-16."""
    known = [name for label in form.charsets if (name := encoding_named(label)) is not None]
    encoding = known[0] if known else page
    return "UTF-8" if codec_for(encoding) == "utf-8" else encoding


def _referer_for(page: str, target: str) -> str:
    """Return the Referer that browsers send: the page to its own origin, the origin to others."""
    same = origin_of(page) == origin_of(target)
    return page.partition("#")[0] if same else f"{origin_of(page)}/"
