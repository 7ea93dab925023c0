"""Records as documents for programs."""

import json
from enum import StrEnum
from typing import Annotated

from gossamer.core.record import FieldMeaning, Fingerprint, Record, Time
from gossamer.core.requests import RequestPreview
from gossamer.queries.documents import fingerprint_text, to_document


class Colour(StrEnum):
    RED = "red"


class Inner(Record, frozen=True, kw_only=True):
    at: Time | None = None
    count: int = 0


class Outer(Inner, frozen=True, kw_only=True):
    number: Fingerprint
    colour: Colour
    seconds: float = 0.5
    inner: tuple[Inner, ...] = ()
    by_colour: dict[Colour, int] = {}
    note: Annotated[str, FieldMeaning.ASIDE] = ""


def test_a_document_has_every_field_of_its_record_but_asides():
    record = Outer(
        number=-1, colour=Colour.RED, at=1.9, inner=(Inner(at=0.0),), by_colour={Colour.RED: 2}, note="x"
    )
    found = json.loads(json.dumps(to_document(record)))
    assert found == {
        "at": "1970-01-01T00:00:01Z",
        "count": 0,
        "number": "f" * 16,
        "colour": "red",
        "seconds": 0.5,
        "inner": [{"at": "1970-01-01T00:00:00Z", "count": 0}],
        "by_colour": {"red": 2},
    }
    assert list(found)[:2] == ["at", "count"], "fields that are inherited come first"
    assert to_document(Inner())["at"] is None


def test_what_users_wrote_stays_as_it_is():
    values = {"at": 1.5, "deep": [{"at": 2}]}
    assert to_document(RequestPreview(cb_kwargs=values))["cb_kwargs"] == values


def test_fingerprints_are_sixteen_digits():
    assert (fingerprint_text(1), fingerprint_text(-(1 << 63))) == ("0" * 15 + "1", "8" + "0" * 15)
