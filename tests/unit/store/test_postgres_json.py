"""The order of fields through JSONB, without a server: what it does to objects is done here by hand."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.store.postgres.json import clean_text, from_jsonb, to_jsonb


def as_jsonb(value):
    """An object with its fields as JSONB has them."""
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: (len(name.encode()), name.encode()))
        return {name: as_jsonb(value[name]) for name in names}
    return [as_jsonb(element) for element in value] if isinstance(value, list) else value


def through(value):
    text, layout, is_altered = to_jsonb(msgspec.json.encode(value))
    assert not is_altered
    return layout, from_jsonb(msgspec.json.encode(as_jsonb(json.loads(text))).decode(), layout)


names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, width=32)
    | names,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=5),
    max_leaves=20,
)


@given(st.dictionaries(names, values, max_size=6))
def test_fields_come_back_in_their_order(value):
    layout, found = through(value)
    assert json.dumps(found) == json.dumps(msgspec.json.decode(msgspec.json.encode(value)))
    assert (layout is None) == (json.dumps(as_jsonb(value)) == json.dumps(value))


@pytest.mark.parametrize("size", [2, 255, 256, 257, 3000])
def test_objects_of_any_size(size):
    value = {f"f{n}": {"b": n, "a": n} for n in range(size, 0, -1)}
    layout, found = through(value)
    assert json.dumps(found) == json.dumps(value)
    assert len(layout) == 1 + 3 * size * (1 if size <= 256 else 2)


@given(st.text())
def test_any_text_can_be_carried(text):
    found = clean_text(text)
    assert "\0" not in found
    found.encode()
    assert clean_text(found) == found


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        ("1e16", "10000000000000000.0"),
        ("-1.5e17", "-150000000000000000.0"),
        ("1E+22", "10000000000000000000000.0"),
        ("1.25e1", "12.5"),
        ("5e-324", "5e-324"),
        ("10000000000000000", "10000000000000000"),
        ('"1e16"', '"1e16"'),
        (r'"\"1e16\\"', r'"\"1e16\\"'),
    ],
)
def test_large_floats_stay_floats(written, stored):
    text, _, is_altered = to_jsonb(f'{{"1e16":[{written},"x1e9"]}}'.encode())
    assert (text, is_altered) == (f'{{"1e16":[{stored},"x1e9"]}}', False)
