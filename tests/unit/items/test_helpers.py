"""Prices, numbers, dates and quantities, as pages write them."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.core.errors import MissingServiceError, UsageError
from gossamer.items import helpers
from gossamer.items.helpers import parse_date, parse_number, parse_price, parse_quantity, squeeze


@pytest.mark.parametrize(
    ("text", "amount", "currency"),
    [
        ("from 1.299,00 €", "1299.00", "€"),
        ("$1,299.5", "1299.5", "$"),
        ("EUR 12", "12", "EUR"),
        ("  12,50\xa0zł ", "12.50", "zł"),
        ("-5 €", "-5", "€"),
        ("\u2212 $5", "-5", "$"),
        ("- 12,50 EUR", "-12.50", "EUR"),
        ("10-20 €", "10", "€"),
        ("call us", None, ""),
        ("", None, ""),
        (None, None, ""),
    ],
)
def test_prices(text, amount, currency):
    found = parse_price(text)
    assert found == (None if amount is None else (Decimal(amount), currency))


@pytest.mark.parametrize(
    ("text", "mark", "expected"),
    [
        ("1,234.5", "", "1234.5"), ("1.234,5", "", "1234.5"), ("1'234.50", "", "1234.50"),
        ("12 345", "", "12345"), ("12\u202f345,6 m", "", "12345.6"), ("1.234", "", "1234"),
        ("1.234", ".", "1.234"), ("1,234", ",", "1.234"), ("0.125", "", "0.125"), ("1.2345", "", "1.2345"),
        ("1,234,567", "", "1234567"), ("about -3.5 %", "", "-3.5"), ("\u22127", "", "-7"), ("5.", "", "5"),
        (".5", "", "0.5"), ("none", "", None), (None, "", None), ("Sizes 36 38 40", "", "36"),
        ("Rating 4, 120 reviews", "", "4"), ("2, 3 or 4 rooms", "", "2"), ("1 234 567,8", "", "1234567.8"),
        ("1 2345", "", "1"), ("1 000 2000", "", "1000"),
    ],
)  # fmt: skip
def test_numbers(text, mark, expected):
    assert parse_number(text, mark) == (None if expected is None else Decimal(expected))


@given(st.decimals(min_value=-(10**9), max_value=10**9, places=2))
def test_a_number_is_read_back_in_both_manners(number):
    english = f"{number:,}"
    german = english.translate({ord(","): ".", ord("."): ","})
    assert parse_number(english) == parse_number(german) == parse_number(english, ".") == number


@given(st.text())
def test_any_text_is_a_number_or_none(text):
    found = parse_number(text)
    assert found is None or found.is_finite()


def test_an_unknown_mark_is_refused():
    with pytest.raises(UsageError, match="decimal_mark"):
        parse_number("1", "x")


@pytest.mark.slow
def test_dates():
    assert parse_date("3 mai 2024", ["fr"]) == datetime(2024, 5, 3)
    assert parse_date("03/04/2024", ["en"], order="DMY") == datetime(2024, 4, 3)
    found = parse_date("2024-05-03 12:00", ["en"], "Europe/Berlin")
    assert found.astimezone(UTC) == datetime(2024, 5, 3, 10, tzinfo=UTC)
    assert found.utcoffset() == timedelta(hours=2)
    assert parse_date("soonish", ["en"]) is None
    assert parse_date(None) is None


@pytest.mark.parametrize(
    ("text", "unit", "expected"),
    [
        ("1,5 kg", "g", "1500"), ("12 inch", "cm", "30.48"), ("90 km/h", "m/s", "25"), ("2 kg", "m", None),
        ("7 wobbles", "m", None), ("heavy", "g", None), (None, "g", None), ("50 %", "%", "50"),
        ("3 m^2", "m", None), ("3 m2", "m", None), ("3 m²", "cm^2", "30000"), ("100 m/s2", "m/s", None),
        ("1 fl oz", "ml", "29.57352956"), ("12 sq ft", "ft**2", "12"), ("5 ft 3 in", "cm", "160.02"),
        ("1 h 30 min", "min", "90"), ("1 kg 1000 g", "g", "1000"), ("330ml6pack", "ml", None),
        ("2 kg 3 m", "g", "2000"), ("6 pack", "g", None), ("4", "m", None), ("20 °C", "degC", "20"),
    ],
)  # fmt: skip
def test_quantities(text, unit, expected):
    found = parse_quantity(text, unit)
    assert (found is None) == (expected is None)
    assert found is None or round(found, 8) == Decimal(expected)


def test_a_unit_that_is_none_is_a_slip_of_the_spider():
    with pytest.raises(UsageError, match="unknown unit 'wobble'"):
        parse_quantity("1 kg", "wobble")


def test_text_in_one_line():
    assert squeeze("  a\n\t b\xa0\u200bc ") == "a b c"
    assert squeeze(None) == ""


def test_without_the_extra_the_error_names_it(monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(helpers, "import_module", missing)
    helpers._library.cache_clear()
    with pytest.raises(MissingServiceError, match=r"price-parser is not installed: .*\[clean\]"):
        parse_price("1 €")
    helpers._library.cache_clear()


def test_a_text_that_is_too_long_to_be_one_takes_no_time(monkeypatch):
    """The libraries take seconds for a few KB of a hostile page, and the crawl would stand still for them."""
    asked = []
    monkeypatch.setattr(helpers, "_library", lambda module, _: asked.append(module))
    assert parse_date("mai 3 " * 1000) is None
    assert parse_price("1 " * 10_000) is None
    assert parse_quantity("1 " * 10_000, "g") is None
    assert asked == []


def test_white_space_does_not_make_a_text_too_long():
    assert parse_date(f"3 May\n{' ' * 500}2024") == datetime(2024, 5, 3)
    assert parse_price(f"{' ' * 2000}12 €") == (Decimal(12), "€")
