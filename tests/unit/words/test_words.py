"""The records and the life-cycle table."""

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.words import errors
from gossamer.words.errors import IllegalMove, NotJsonable, UsageError
from gossamer.words.lifecycle import TABLE, JobState, Move, State, after
from gossamer.words.model import BANDS, FrontierStats, Request
from gossamer.words.servers import shown_server


@pytest.mark.parametrize("state", [None, *State])
@pytest.mark.parametrize("move", list(Move))
def test_a_move_is_in_the_table_or_illegal(state, move):
    if (state, move) in TABLE:
        assert after(state, move) is TABLE[state, move]
    else:
        with pytest.raises(IllegalMove, match=str(move)):
            after(state, move)


def test_every_state_can_be_reached_and_left_but_done():
    assert set(TABLE.values()) == set(State)
    assert {before for before, _ in TABLE} == {None, *State} - {State.DONE}


def test_callbacks_travel_by_name():
    class Shop:
        def parse(self, response): ...

    assert Request("http://a", callback=Shop().parse, errback="oops").callback == "parse"
    with pytest.raises(UsageError, match="lambda"):
        Request("http://a", callback=lambda r: None)
    with pytest.raises(UsageError, match="errback"):
        Request("http://a", errback=object())


@pytest.mark.parametrize(
    ("meta", "place"),
    [
        ({"a": [{"b": object()}]}, r"meta\['a'\]\[0\]\['b'\] is a object"),
        ({1: "x"}, "meta has the key 1"),
        ({"x": math.nan}, r"meta\['x'\] is nan"),
        ({"x": b"bytes"}, r"meta\['x'\] is a bytes"),
    ],
)
def test_what_cannot_be_stored_is_refused_by_name(meta, place):
    with pytest.raises(NotJsonable, match=place):
        Request("http://a", meta=meta)
    with pytest.raises(NotJsonable, match=place.replace("meta", "cb_kwargs")):
        Request("http://a", cb_kwargs=meta)


def test_a_request_is_tidied():
    request = Request("http://a", method="post", body="é")
    assert (request.method, request.body) == ("POST", "é".encode())
    with pytest.raises(UsageError, match="url must be a string"):
        Request(b"http://a")
    with pytest.raises(AttributeError):
        request.url = "http://b"


@given(st.integers())
def test_bands_follow_priority_and_are_clamped(priority):
    band = Request("http://a", priority=priority).band
    assert 0 <= band < BANDS
    assert band >= Request("http://a", priority=priority + 1).band
    assert [Request("http://a", priority=p).band for p in (5, 4, 0, -4, -5)] == [0, 0, 4, 8, 8]


json_ = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(meta=st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), json_, max_size=3))
def test_a_request_survives_the_wire(meta):
    request = Request("http://a", callback="parse", meta=meta, priority=3)
    wire = msgspec.msgpack.encode(request)
    assert msgspec.msgpack.decode(wire, type=Request) == request


def test_waiting_is_what_has_to_be_done():
    stats = FrontierStats(state=JobState.RUNNING, pending=1, delayed=2, leased=4, done=8, dead=16)
    assert stats.waiting == 7


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://u:S3cret@db:5432/x?password=S3cret", "postgresql://db:5432/x"),
        ("redis://:S3cret@[::1]:1/0#S3cret", "redis://[::1]:1/0"),
        ("amqp://u:S3@cret@queue//", "amqp://queue//"),
        ("redis://me:12/S3cret@h:1/0", "redis://…"),
        ("redis://me:1?S3cret@h:1/0", "redis://…"),
        ("redis://h/0?password=S@3cret/x", "redis://…"),
        ("redis://h:S3cret/0", "redis://…"),
        ("postgresql://u:S3cret@[db/x", "postgresql://…"),
        ("redis://h\x1b/0", "redis://h?/0"),
        ("host=db password=S3cret", "…"),
        ("redis:/u:S3cret@h", "…"),
        ("redis:/h/0", "redis:/h/0"),
        ("", "…"),
    ],
)
def test_servers_are_shown_without_secrets(url, shown):
    assert shown_server(url) == shown


def test_every_error_has_one_root_and_operators_errors_an_exit_code():
    found = [
        value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, Exception)
    ]
    assert all(issubclass(error, errors.GossamerError) for error in found)
    operators = [error for error in found if issubclass(error, errors.OperatorError)]
    assert len(operators) > 5
    assert {error.exit_code for error in operators} <= {2, 4}
    assert str(errors.FetchError(errors.Fault.TLS, "expired")) == "tls: expired"
