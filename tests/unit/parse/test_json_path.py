"""Paths into JSON."""

import pytest

from gossamer.parse.json_path import find_values, parse_path, replace_value

DOCUMENT = {"meta": {"total": 3, "next": None}, "products": [{"name": "a"}, {"name": "b"}], "odd name": 1}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("$", [DOCUMENT]),
        ("$.meta.total", [3]),
        ("$.meta.next", []),
        ("$.products[0].name", ["a"]),
        ("$.products[-1].name", ["b"]),
        ("$.products[*].name", ["a", "b"]),
        ("$.products[9]", []),
        ('$["odd name"]', [1]),
        ("$.meta.*", [3]),
        ("$.meta.total.deeper", []),
    ],
)
def test_values_at_a_path(path: str, found: list[object]) -> None:
    assert find_values(DOCUMENT, path) == found


@pytest.mark.parametrize("path", ["meta", "$meta", "$.", "$.a[", "$.a[?(@.b)]", "$..a"])
def test_a_bad_path_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="invalid JSON path"):
        parse_path(path)


def test_setting_a_value_leaves_the_rest_and_the_original() -> None:
    before = {"paging": {"limit": 2}}
    assert replace_value(before, "$.paging.offset", 2) == {"paging": {"limit": 2, "offset": 2}}
    assert replace_value(before, "$.more.deep", 1) == {"paging": {"limit": 2}, "more": {"deep": 1}}
    assert before == {"paging": {"limit": 2}}
    for path, why in (("$.a[0]", "only names"), ("$", "only names"), ("$.paging.limit.x", "not an object")):
        with pytest.raises(ValueError, match=why):
            replace_value(before, path, 1)
