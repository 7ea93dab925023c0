"""Forms: the data that a browser would send (HTML standard, 4.10.22, "form submission").

The fields of a form are searched in the whole page: they may stand outside it and name it, and a form between
the rows of a table is empty in the tree, with its fields behind it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from gossamer.parse.selectors import Selector

_CONTROLS = "input, select, textarea, button"
_SUBMITS = frozenset({"submit", "image"})
_DIRECTED = frozenset({"", "text", "search", "hidden", "tel", "url", "email", "password"})
"""Types of input that also send a direction (``dirname``)."""
MAX_FIELDS = 1000


class FormButton(NamedTuple):
    """A button that sends a form, and its settings for that."""

    element: Any  # of the tree
    action: str | None
    method: str | None
    enctype: str | None
    label: str  # for people


class FormControl(NamedTuple):
    """The values that one control of a form may send."""

    name: str
    values: tuple[str, ...]  # as on the page; of a button, the value that a click sends
    kind: str  # ``text``, ``hidden``, ``box``, ``radio``, ``select``, ``file`` or ``button``
    choice: str = ""  # of a box: the value that it sends when it is checked
    button: FormButton | None = None


class PageForm(NamedTuple):
    """One form of a page, with its initial values."""

    action: str  # as written; empty: the page itself
    method: str  # ``GET``, ``POST`` or ``DIALOG``
    enctype: str
    charsets: tuple[str, ...]  # as written
    controls: list[FormControl]  # in the order of the page
    asks_password: bool

    @property
    def names(self) -> set[str]:
        """The names of all fields that can be filled in."""
        return {control.name for control in self.controls}

    @property
    def buttons(self) -> list[FormButton]:
        """Those that send it, the default one first."""
        return list(dict.fromkeys(control.button for control in self.controls if control.button is not None))


def read_forms(root: Selector, css: str = "form") -> list[PageForm]:
    """Return the forms of a page that match ``css``."""
    wanted = [form for form in root.css(css) if _tag_of(form) == "form"]
    if not wanted:
        return []
    owned = _controls_by_form(root)
    barred = _barred_controls(root)
    return [_read_form(form, owned.get(form.root, []), barred) for form in wanted]


def choose_form(forms: list[PageForm], names: Collection[str]) -> PageForm | None:
    """Return the form that a person would fill in: the one that has most of the fields, of equals the first.

    If some ask for a password, and a field of no form decides, it is the first of those.
    """
    wanted = set(names)
    return max(forms, key=lambda form: (len(wanted & form.names), form.asks_password), default=None)


# --------------------------------------------------------------------------- fields and their forms


def _controls_by_form(root: Selector) -> dict[Any, list[Selector]]:
    """Return the controls of each form in the order of the page."""
    forms = root.css("form")
    by_id: dict[str, Any] = {}
    inside: dict[Any, Any] = {}
    for form in forms:
        by_id.setdefault(form.attrib.get("id", ""), form.root)
        inside.update((control.root, form.root) for control in form.css(_CONTROLS))
    holders = {*inside.values()}
    owned: dict[Any, list[Selector]] = {}
    open_form = None  # an empty one in a table: the parser has put its fields behind it
    for element in root.css(f"form, {_CONTROLS}"):
        if _tag_of(element) == "form":
            is_in_table = element.root not in holders and bool(element.xpath("ancestor::table"))
            open_form = element.root if is_in_table else None
            continue
        named = element.attrib.get("form")
        owner = inside.get(element.root, open_form) if named is None else by_id.get(named) if named else None
        if owner is not None:
            owned.setdefault(owner, []).append(element)
    return owned


def _barred_controls(root: Selector) -> set[Any]:
    """Controls in a disabled fieldset, but for those in its first legend; and those in a datalist."""
    barred = {control.root for control in root.css("datalist").css(_CONTROLS)}
    for fieldset in root.css("fieldset[disabled]"):
        legend = fieldset.xpath("./legend[1]").css(_CONTROLS)
        free = {control.root for control in legend}
        barred.update(control.root for control in fieldset.css(_CONTROLS) if control.root not in free)
    return barred


# --------------------------------------------------------------------------- reading


def _read_form(form: Selector, elements: list[Selector], barred: set[Any]) -> PageForm:
    attributes = form.attrib
    controls: list[FormControl] = []
    asks_password = False
    for element in elements:
        said = element.attrib
        asks_password = asks_password or said.get("type", "").strip().lower() == "password"
        if "disabled" not in said and element.root not in barred and len(controls) < MAX_FIELDS:
            controls += _read_control(element, said)
    return PageForm(
        attributes.get("action", ""),
        _method_of(attributes.get("method", "")),
        attributes.get("enctype", "").strip().lower(),
        tuple(attributes.get("accept-charset", "").replace(",", " ").split()),
        _with_one_radio(controls),
        asks_password,
    )


def _read_control(element: Selector, said: dict[str, str]) -> Iterator[FormControl]:
    """Yield the control of an element; nothing for an element that never sends anything."""
    tag, name = _tag_of(element), said.get("name", "")
    kind = said.get("type", "").strip().lower()
    if kind in _SUBMITS or (tag == "button" and kind not in ("button", "reset")):
        yield from _read_button(element, said, is_image=tag == "input" and kind == "image")
    elif not name or tag == "button" or kind in ("button", "reset"):
        return
    elif tag == "select":
        yield FormControl(name, _selected_in(element, said), "select")
    elif tag == "textarea":
        text = "".join(element.css("::text").getall()).removeprefix("\n")
        yield FormControl(name, (text,), "text")
        yield from _direction_of(said)
    elif kind in ("checkbox", "radio"):
        choice = said.get("value", "on")
        values = (choice,) if "checked" in said else ()
        yield FormControl(name, values, "radio" if kind == "radio" else "box", choice)
    elif kind == "file":
        yield FormControl(name, ("",), "file")
    else:
        yield FormControl(name, (said.get("value", ""),), "hidden" if kind == "hidden" else "text")
        if kind in _DIRECTED:
            yield from _direction_of(said)


def _read_button(element: Selector, said: dict[str, str], *, is_image: bool) -> Iterator[FormControl]:
    name, value = said.get("name", ""), said.get("value", "")
    label = " ".join("".join(element.css("::text").getall()).split()) or value or name or "nameless"
    method = said.get("formmethod")
    button = FormButton(
        element.root,
        said.get("formaction"),
        None if method is None else _method_of(method),
        said.get("formenctype", "").strip().lower() or None,
        label,
    )
    if is_image:  # clicked at its corner
        yield from (
            FormControl(f"{name}.{axis}" if name else axis, ("0",), "button", "", button) for axis in "xy"
        )
    else:
        yield FormControl(name, (value,) if name else (), "button", "", button)


def _direction_of(said: dict[str, str]) -> Iterator[FormControl]:
    if said.get("dirname"):
        yield FormControl(
            said["dirname"], ("rtl" if said.get("dir", "").lower() == "rtl" else "ltr",), "hidden"
        )


def _with_one_radio(controls: list[FormControl]) -> list[FormControl]:
    """Keep only the last checked button of each radio group."""
    last = {
        control.name: place
        for place, control in enumerate(controls)
        if control.kind == "radio" and control.values
    }
    return [
        control._replace(values=())
        if control.kind == "radio" and last.get(control.name) != place
        else control
        for place, control in enumerate(controls)
    ]


def _selected_in(field: Selector, said: dict[str, str]) -> tuple[str, ...]:
    """Return the selected values of a list; a closed list defaults to its first enabled option."""
    barred = {option.root for option in field.css("optgroup[disabled] option")}
    options = [(option, option.attrib) for option in field.css("option")]
    free = [(option, own) for option, own in options if "disabled" not in own and option.root not in barred]
    chosen = [(option, own) for option, own in options if "selected" in own]
    if "multiple" not in said:
        is_open = said.get("size", "").strip() not in ("", "0", "1")
        chosen = chosen[-1:] or ([] if is_open else free[:1])
    roots = {option.root for option, _ in free}
    return tuple(_value_of_option(option, own) for option, own in chosen if option.root in roots)


def _value_of_option(option: Selector, said: dict[str, str]) -> str:
    return said["value"] if "value" in said else " ".join("".join(option.css("::text").getall()).split())


def _method_of(written: str) -> str:
    method = written.strip().upper()
    return method if method in ("POST", "DIALOG") else "GET"


def _tag_of(selector: Selector) -> str:
    return str(selector.xpath("name()").get("")).lower()
