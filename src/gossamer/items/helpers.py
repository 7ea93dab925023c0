"""Read prices, numbers, dates and quantities from the texts of pages.

Each function takes a text, or ``None`` as a selector gives it, and returns ``None`` if it finds no value, or
if the text is too long to be parsed in little time. The libraries behind them belong to the extra ``clean``
and are imported on first use.
"""

from __future__ import annotations

import re
from datetime import datetime
from decimal import Decimal, InvalidOperation
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

from gossamer.core.errors import MissingServiceError, UsageError
from gossamer.install import install_command

_SPACES = re.compile(r"[\s\u00a0\u200b\u202f\u2009\ufeff]+")
_NUMBER = re.compile(r"[-+\u2212]?\s*(?:\d+(?:[ '\u2019]\d{3}(?!\d)|[.,]\d+)*|[.,]\d+)")
"""A space parts groups of three digits, and nothing else: ``36 38`` are two numbers."""
_MINUS = re.compile(r"[-\u2212]\s*[^\W\d]{0,3}\W{0,2}\d")
_WORDS = re.compile(r"\s*(fl\.?\s?oz\b|sq\.?\s?(?:m|km|cm|ft|in|yd|mi)\b)", re.IGNORECASE)
_UNIT = re.compile(
    r"\s*(%|\u00b0[CF]?|[^\W\d_]+)(?:\^?([23])|([\u00b2\u00b3]))?"
    r"(?:\s*/\s*([^\W\d_]+)(?:\^?([23])|([\u00b2\u00b3]))?)?(?![\w^])"
)
_MEANT = {"%": "percent", "\u00b0": "degree", "\u00b0C": "degC", "\u00b0F": "degF"}
_POWERS = {"2": "**2", "3": "**3", "\u00b2": "**2", "\u00b3": "**3"}

LONGEST_DATE = 150
"""Characters of a text in which a date is looked for: 1 KB of ``mai 3`` may take dateparser a second."""
LONGEST_AMOUNT = 1000
"""Characters of a text in which a price or a quantity is looked for: the time grows with the square."""


class PriceValue(NamedTuple):
    """A price in a text; the result of :func:`parse_price`."""

    amount: Decimal  # the amount
    currency: str  # symbol or code as written, such as ``€`` or ``EUR``; empty: the text has none


def squeeze(text: str | None) -> str:
    """Return ``text`` in one line, with single spaces between words; empty for ``None``."""
    return _SPACES.sub(" ", text or "").strip()


def parse_price(text: str | None, currency: str = "") -> PriceValue | None:
    """Find the price in a text such as ``from 1.299,00 €``.

    Args:
        text: the text, of at most 1,000 characters; a longer one gives ``None``.
        currency: a code, for symbols with several meanings.

    Raises ``MissingServiceError`` without the extra ``clean``.
    """
    text = squeeze(text)
    if not text or len(text) > LONGEST_AMOUNT:
        return None
    price = _library("price_parser", "price-parser").Price.fromstring(text, currency or None)
    if price.amount is None:
        return None
    amount: Decimal = price.amount
    return PriceValue(-amount if amount > 0 and _MINUS.match(text) else amount, price.currency or "")


def parse_number(text: str | None, decimal_mark: str = "") -> Decimal | None:
    """Find the first number in a text, with its sign and with groups of digits (``1 234,5``).

    Args:
        text: the text.
        decimal_mark: ``.`` or ``,`` if it is known. By default the last of two different marks is decimal,
            and a mark before exactly three digits divides groups: ``1.234`` is 1234, ``0.125`` a fraction.

    Raises ``UsageError`` for another mark.
    """
    if decimal_mark not in ("", ".", ","):
        raise UsageError(f"decimal_mark is {decimal_mark!r}; it must be '.' or ','")
    found = _NUMBER.search(_SPACES.sub(" ", text or ""))
    if found is None:
        return None
    digits = re.sub(r"['\u2019 ]", "", found[0]).replace("\u2212", "-").rstrip(".,")
    mark = decimal_mark or _decimal_mark_of(digits)
    whole, _, fraction = digits.rpartition(mark) if mark and mark in digits else (digits, "", "")
    plain = re.sub(r"[.,]", "", whole)
    try:
        return Decimal(f"{plain or '0'}.{re.sub('[.,]', '', fraction)}" if fraction else plain)
    except InvalidOperation:
        return None


def _decimal_mark_of(digits: str) -> str:
    marks: list[str] = re.findall(r"[.,]", digits)
    if not marks:
        return ""
    last = marks[-1]
    if len(set(marks)) == 2:
        return last
    whole, _, fraction = digits.partition(last)
    is_group = len(marks) > 1 or (len(fraction) == 3 and whole.lstrip("+-") not in ("", "0"))
    return "" if is_group else last


def parse_date(
    text: str | None, languages: list[str] | None = None, timezone: str = "", *, order: str = ""
) -> datetime | None:
    """Find the time in a text of any language (``3 mai 2024``, ``yesterday``, ``12/31/24 8pm``).

    Args:
        text: the text, of at most 150 characters; a longer one gives ``None``.
        languages: codes such as ``["de"]``, which make it faster and more reliable.
        timezone: time zone of the page; the result then has it. By default the result has none.
        order: ``DMY``, ``MDY`` or ``YMD``, for dates of numbers alone.

    Raises ``MissingServiceError`` without the extra ``clean``.
    """
    text = squeeze(text)
    if not text or len(text) > LONGEST_DATE:
        return None
    wanted: dict[str, Any] = {}
    if timezone:
        wanted |= {"TIMEZONE": timezone, "RETURN_AS_TIMEZONE_AWARE": True}
    if order:
        wanted["DATE_ORDER"] = order
    found: datetime | None = _library("dateparser", "dateparser").parse(
        text, languages=languages, settings=wanted or None
    )
    return found


def parse_quantity(text: str | None, unit: str) -> Decimal | None:
    """Convert a number with a unit (``1,5 kg``, ``5 ft 3 in``) to another unit.

    Args:
        text: the text, of at most 1,000 characters; a longer one, or another kind of unit, gives ``None``.
        unit: the unit of the result, such as ``g``.

    Raises ``UsageError`` for an unknown ``unit``, and ``MissingServiceError`` without the extra ``clean``.
    """
    text = squeeze(text)
    if not text or len(text) > LONGEST_AMOUNT:
        return None
    if _NUMBER.search(text) is None:
        return None
    try:
        target = _units().Unit(_MEANT.get(unit, unit))
    except Exception as error:
        raise UsageError(f"unknown unit {unit!r}: {error}") from error
    found = _first_quantity(text, target)
    if found is None:
        return None
    amount, one, rest = found
    if _NUMBER.match(rest := rest.lstrip()) and (part := _first_quantity(rest, target)) and 0 < part[0] < one:
        amount += part[0] if amount >= 0 else -part[0]
    return amount


def _first_quantity(text: str, target: Any) -> tuple[Decimal, Decimal, str] | None:
    """Return the first quantity in the target's unit, one of its present unit, and the rest."""
    found, number = _NUMBER.search(text), parse_number(text)
    if found is None or number is None:
        return None
    name, rest = _read_unit(text[found.end() :])
    quantity, error = _units().Quantity, _library("pint", "pint").errors.PintError
    try:
        amounts = [Decimal(str(quantity(one, name).to(target).magnitude)) for one in (number, Decimal(1))]
    except (error, AttributeError, TypeError, ValueError, InvalidOperation):
        return None
    return amounts[0], amounts[1], rest


def _read_unit(text: str) -> tuple[str, str]:
    """Return the unit at the start of a text, as pint calls it, and the rest. Unknown units stay."""
    if words := _WORDS.match(text):
        said = words[1].lower()
        name = "fluid_ounce" if said.startswith("fl") else f"{said[2:].lstrip('. ')}**2"
        return name, text[words.end() :]
    written = _UNIT.match(text)
    if written is None:
        return ("dimensionless", text) if not re.match(r"\s*[\w^%\u00b0]", text) else ("", text)
    unit, *power, below, lower, low = written.groups()
    name = _MEANT.get(unit, unit) + _POWERS.get(power[0] or power[1] or "", "")
    if below:
        name += f"/{below}{_POWERS.get(lower or low or '', '')}"
    return name, text[written.end() :]


@cache
def _units() -> Any:
    return _library("pint", "pint").UnitRegistry(non_int_type=Decimal)


@cache
def _library(module: str, package: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingServiceError(f"{package} is not installed: {install_command('clean')}") from error
