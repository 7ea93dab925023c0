"""Recognises headers that have the form of an earlier one, without parsing them.

The answers of a site have the same fields in the same order; only values differ. Parsing a header costs five
times as much as filling in a known form and comparing the text.
"""

from __future__ import annotations

MAX_FORMS = 1000

_forms: dict[tuple[int, tuple[str, ...]], str] = {}
"""By status and names of fields: a header whose values are ``%s``."""


def has_known_form(text: str, status: int, names: tuple[str, ...], values: tuple[str, ...]) -> bool:
    """Whether a header is known to say exactly this; ``False`` if that is unknown."""
    form = _forms.get((status, names))
    if form is None or form % values != text or not text.isascii():
        return False
    said = "\n".join(("", *values, ""))
    if said.count("\n") > len(values) + 1 or "\r" in said:  # it is in a value
        return False
    return not ("\n " in said or "\n\t" in said or " \n" in said or "\t\n" in said)  # values without margins


def learn_form(text: str, status: int, names: tuple[str, ...], values: tuple[str, ...]) -> None:
    """Remember how a header is written that was read, and says this."""
    first, *lines = text.split("\r\n")
    written = [line[: len(name)] for line, name in zip(lines, names, strict=False)]
    fields = "".join([f"{name.replace('%', '%%')}: %s\r\n" for name in written])
    form = f"{first.replace('%', '%%')}\r\n{fields}\r\n"
    if len(written) == len(names) and form % values == text:
        if len(_forms) >= MAX_FORMS:
            _forms.clear()
        _forms[status, names] = form
