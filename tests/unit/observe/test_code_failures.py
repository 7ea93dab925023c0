"""Errors of a spider's code, told once with a count."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from gossamer.core.results import Attempt, Verdict
from gossamer.observe.code_failures import describe_failures

OWN = """Traceback (most recent call last):
  File "/home/me/shop.py", line 7, in parse
    yield Product(price=self.price(response))
  File "/home/me/shop.py", line {line}, in price
    return Decimal(text)
  File "/usr/lib/python3.11/decimal.py", line 900, in __new__
    raise {error}
{error}
"""


def failed(*details: str, reason: str = "callback") -> list[Attempt]:
    return [
        Attempt(at=1.0, url="", fingerprint=number, verdict=Verdict.DEAD, reason=reason, detail=detail)
        for number, detail in enumerate(details)
    ]


def test_pages_that_fail_at_one_line_fail_for_one_reason() -> None:
    attempts = failed(*(OWN.format(line=9, error=f"ValueError: {n} is wrong") for n in range(3)))
    assert describe_failures(attempts, 3, "shop-1") == (
        "3 pages failed in the spider's code: ValueError: 2 is wrong (price() in shop.py, line 9); fix it, "
        "then `gossamer dead retry shop-1 --reason callback` and the same command"
    )


def test_of_errors_that_led_to_others_the_last_one_names_the_line() -> None:
    inner = OWN.format(line=3, error="OSError: refused").replace("/home/me/shop.py", "/usr/lib/urllib.py")
    both = f"{inner}\nDuring handling of the above exception, another exception occurred:\n\n"
    said = describe_failures(failed(both + OWN.format(line=9, error="URLError: refused")), 1)
    assert said == "1 page failed in the spider's code: URLError: refused (price() in shop.py, line 9)"


@pytest.mark.parametrize(("tries", "said"), [((4, 4), "4 times each"), ((4, 7), "4 times or more")])
def test_a_step_that_was_tried_again_names_its_tries_and_may_work_again(
    tries: tuple[int, int], said: str
) -> None:
    detail = f"in the pipeline step Prices:\n{OWN.format(line=9, error='ConnectionError: no database')}"
    attempts = [
        replace(attempt, attempt=count)
        for attempt, count in zip(failed(detail, detail, reason="pipeline"), tries, strict=True)
    ]
    assert describe_failures(attempts, 2, "shop-1") == (
        "2 pages failed in the spider's code: ConnectionError: no database (price() in shop.py, line 9, the "
        f"pipeline step Prices), tried {said}; when it works again, `gossamer dead retry shop-1 --reason "
        "pipeline` and the same command"
    )


def test_the_commonest_errors_come_first_and_are_counted() -> None:
    details = [OWN.format(line=9, error="KeyError: 'a'"), *["a str is not an item"] * 2]
    details += [OWN.format(line=n, error="TypeError: no") for n in (20, 21)]
    attempts = [*failed(*details), *failed("too slow", reason="pipeline")]
    said = describe_failures(attempts, 6, "shop-1")
    assert said.startswith(
        "6 pages failed in the spider's code: 2 times a str is not an item; 1 time KeyError"
    )
    assert said.endswith(", ...; fix it, then `gossamer dead retry shop-1` and the same command")
    assert describe_failures(failed("no"), 1) == "1 page failed in the spider's code: no"


@pytest.mark.parametrize(
    "error",
    [
        "AttributeError: 'NoneType' object has no attribute 'strip'",
        "TypeError: 'NoneType' object is not subscriptable",
        "TypeError: float() argument must be a string or a real number, not 'NoneType'",
    ],
)
def test_a_value_that_is_not_there_is_mostly_a_selector_that_found_nothing(error: str) -> None:
    said = describe_failures(failed(OWN.format(line=9, error=error)), 1)
    assert said.endswith(": mostly a selector that found nothing, for which get() gives None")


@pytest.mark.parametrize(
    ("error", "hint"),
    [
        ("AttributeError: 'SelectorList' object has no attribute 'text'", "response.css('h1::text').get()"),
        ("AttributeError: 'SelectorList' object has no attribute 'extractfirst'", "get() gives the first"),
        ("AttributeError: 'Response' object has no attribute 'find_all'", "response.css('SELECTOR')"),
        ("AttributeError: 'Selector' object has no attribute 'select_one'", "response.css('SELECTOR')"),
        ("AttributeError: 'Response' object has no attribute 'status_code'", "response.status"),
        ("AttributeError: 'Response' object has no attribute 'content'", "response.body"),
        ("TypeError: object Request can't be used in 'await' expression", "a request is yielded"),
        (
            "TypeError: S.parse_one() missing 1 required positional argument: 'response'",
            "without parentheses",
        ),
    ],
)
def test_habits_of_other_libraries_are_answered_with_what_does_the_same(error: str, hint: str) -> None:
    said = describe_failures(failed(OWN.format(line=9, error=error)), 1)
    assert hint in said.partition("line 9): ")[2]
