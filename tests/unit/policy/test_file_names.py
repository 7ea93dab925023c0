"""What files are called: nothing of it is said by a site."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.blobs.names import check_name
from gossamer.policy.file_names import is_wanted, name_blob, name_thumbnail, read_digest, read_type

DIGESTS = st.binary(min_size=32, max_size=32).map(bytes.hex)


@given(DIGESTS, st.text())
def test_any_file_has_a_name_that_is_safe_and_says_its_digest(digest, said):
    for name in (
        name_blob(digest, read_type(said, b"")),
        name_blob(digest, said),
        name_thumbnail(digest, "a-b_1"),
    ):
        assert read_digest(check_name(name)) == digest


OTHERS = ["mine.txt", "ab/cd.pdf", f"ab/{'cd' * 32}.pdf", f"x/ab/{'ab' * 32}.pdf", "thumbs/a.jpg"]


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_not_ours_has_no_digest(name):
    assert read_digest(name) == ""


@pytest.mark.parametrize(
    ("said", "head", "kind"),
    [
        ("image/JPG; charset=x", b"", "image/jpeg"),
        ("", b"%PDF-1.7", "application/pdf"),
        ("application/octet-stream", b"RIFF0000WEBPVP8 ", "image/webp"),
        ("../../etc", b"\x89PNG\r\n\x1a\n", "image/png"),
        ("text/html", b"%PDF-", "text/html"),
        ("x", b"?", "application/octet-stream"),
    ],
)
def test_a_type_is_what_the_server_says_or_else_what_the_file_begins_with(said, head, kind):
    assert read_type(said, head) == kind


def test_types_are_wanted_by_name_or_by_kind():
    assert is_wanted("image/png", ())
    assert is_wanted("image/png", ["text/css", "Image/*"])
    assert not is_wanted("image/png", ["image/jpeg", "video/*"])
