"""Regular expressions of settings: what they mean, and how long a search takes."""

from __future__ import annotations

import re
import time
import warnings

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gossamer.core.errors import UsageError
from gossamer.policy.patterns import UrlPattern

PIECES = st.sampled_from(
    [
        *"ab/.?*+|()[]{}^$-&~,1 \\<",
        "[a-c]",
        "[^/]+",
        ".*",
        "\\d",
        "\\w",
        "\\b",
        "{2}",
        "{1,3}",
        "(?:",
        "a+",
        "[[",
        "&&",
    ]
)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(st.lists(PIECES, max_size=9).map("".join), st.text("ab/.12 -&~[]{<+", max_size=14))
def test_an_expression_means_what_it_means_in_python(text, url):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = re.search(text, url) is not None
        except (re.error, OverflowError):
            assume(False)
        assert bool(UrlPattern(text).search(url)) is expected


@pytest.mark.parametrize(
    "text",
    [r"(a+)+$", r"(?:a|aa)*b", r".*.*.*.*=", r"https?://[^/]+/(?:\w+/)*x", r"\?(?:.*&)?page=\d{1,9}(?:&|$)"],
)
def test_no_url_holds_up_a_worker(text):
    pattern = UrlPattern(text)
    assert pattern.is_linear
    began = time.perf_counter()
    pattern.search("https://a.example/" + "a" * 8000 + "!")
    assert time.perf_counter() - began < 1.0


@pytest.mark.parametrize(
    ("text", "url", "is_found"),
    [
        (r"/a(?!b)", "/ac", True),
        (r"/a(?!b)", "/ab", False),
        (r"(a)\1", "/aa", True),
        (r"a++a", "aaa", False),
        (r"[[a]b]", "a]", False),
        (r"[a&&b]", "&", True),
        (r"\<a", "a", False),
        (r"a{ 2}", "aa", False),
        (r"(?x)a [ ]", "a ", True),
        (r"x\Z", "x", True),
    ],
)
def test_what_both_engines_read_differently_is_read_as_python_does(text, url, is_found):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pattern = UrlPattern(text)
    assert bool(pattern.search(url)) is is_found
    assert not pattern.is_linear


@pytest.mark.parametrize("text", ["(", "a{2,1}", "(" * 2000 + ")" * 2000, "a{99999999999}"])
def test_text_that_is_no_expression_is_named(text):
    with pytest.raises(UsageError, match="is not a regular expression"):
        UrlPattern(text)
