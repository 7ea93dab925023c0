"""Places in an archive."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.core.archive import ArchiveLocation

FILES = st.from_regex(r"[A-Za-z0-9._=-]+(/[A-Za-z0-9._=-]+)*", fullmatch=True)


@pytest.mark.slow
@given(FILES, st.integers(0, 2**63), st.integers(1, 2**63))
def test_a_place_names_its_location_and_no_other(file, offset, length):
    location = ArchiveLocation(file=file, offset=offset, length=length)
    assert ArchiveLocation.from_text(location.text) == location


@pytest.mark.parametrize(
    "text", ["", "a", "a:1", ":1:2", "a:b:2", "a:1:0", "a:-1:2", "a:1:2:", "a b:1:2", "a:1:2\n"]
)
def test_what_is_no_place_is_refused(text):
    """Half a place would read bytes of another record."""
    with pytest.raises(ValueError, match="is not a place in an archive"):
        ArchiveLocation.from_text(text)
