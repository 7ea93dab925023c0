"""``jmespath()`` gives what parsel's gives: on JSON, on strings of JSON, and on JSON within HTML and XML."""

import json
import sys
from subprocess import run

import parsel
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.core.errors import SelectorError
from gossamer.parse.selectors import Selector
from gossamer.spiders.response import Response

DATA = {
    "name": "Lamp", "price": 12.5, "none": None, "zero": 0, "no": False, "empty": "",
    "tags": ["a", "b"], "nested": [["x"], ["y", None]],
    "sizes": [{"name": "S", "stock": 0}, {"name": "M", "stock": 3}],
    "html": "<p>One <a href='/x'>two</a></p>",
    "inner": '{"deep": [1, {"er": "z"}]}',
}  # fmt: skip
QUERIES = (
    "name", "price", "none", "zero", "no", "empty", "missing", "tags", "tags[0]", "nested", "nested[]",
    "sizes[*].name", "sizes[?stock > `0`].name | [0]", "length(sizes)", "{n: name, p: price}", "keys(@)",
    "inner", "html", "@", "*",
)  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9)
    | st.sampled_from(["", "1", "null", "[1]", '{"a": 2}', "<b>x</b>"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


def told(found):
    return [(one.type, one.get(), bool(one)) for one in found]


def both(text, kind="json"):
    return Selector(text=text, type=kind), parsel.Selector(text=text, type=kind)


@pytest.mark.parametrize("query", QUERIES)
def test_values_of_json(query):
    ours, theirs = (selector.jmespath(query) for selector in both(json.dumps(DATA)))
    assert told(ours) == told(theirs)
    assert (ours.get(), ours.get("default"), ours.getall()) == (
        theirs.get(), theirs.get("default"), theirs.getall(),
    )  # fmt: skip
    assert repr(ours) == repr(theirs)


@given(
    value=VALUES, queries=st.lists(st.sampled_from(["a", "[0]", "b[]", "@", "[*].a", "c.a", "*"]), max_size=3)
)
def test_one_after_the_other(value, queries):
    ours, theirs = both(json.dumps(value))
    ours, theirs = [ours], [theirs]
    for query in queries:
        ours, theirs = (
            [found for one in several for found in one.jmespath(query)] for several in (ours, theirs)
        )
        assert told(ours) == told(theirs)


def test_a_list_of_selectors_asks_each():
    ours, theirs = both(json.dumps(DATA))
    assert told(ours.jmespath("sizes").jmespath("stock")) == told(theirs.jmespath("sizes").jmespath("stock"))
    assert ours.jmespath("tags").re("[ab]") == theirs.jmespath("tags").re("[ab]") == ["a", "b"]


def test_strings_of_json_may_be_json_or_html():
    for page in both(json.dumps(DATA)):
        assert page.jmespath("inner").jmespath("deep[1].er").get() == "z"
        assert page.jmespath("html").css("a::attr(href)").get() == "/x"
        assert page.jmespath("html").xpath("//p/a/text()").getall() == ["two"]
        assert page.jmespath("price").jmespath("x").getall() == []


@pytest.mark.parametrize("kind", ["html", "xml"])
def test_json_in_documents(kind):
    text = '<script type="application/json">{"a": [1, {"b": "c"}]}</script><s>{"a": 7}<i>x</i></s><u>no</u>'
    text = f"<r>{text}</r>"
    ours, theirs = both(text, kind)
    for query in ("script", "script::text", "s", "u", "r", "script::attr(type)", "nothing"):
        assert told(ours.css(query).jmespath("a")) == told(theirs.css(query).jmespath("a")), query
    assert ours.css("script").jmespath("a[1].b").get() == "c"


def test_what_is_wrong_is_said():
    page = Selector(text="{}", type="json")
    with pytest.raises(SelectorError, match=r"invalid JMESPath expression 'a\[': Incomplete expression"):
        page.jmespath("a[")
    with pytest.raises(SelectorError, match=r"invalid JMESPath expression 'length\(`1`\)': "):
        page.jmespath("length(`1`)")
    for select in (page.css, page.xpath):
        with pytest.raises(SelectorError, match="of JSON, jmespath"):
            select("a")
    assert page.register_namespace("a", "b") is page.remove_namespaces() is page.drop() is None
    deep = Selector(text="[" * 100_000, type="json")
    assert (deep.root, deep.jmespath("a").getall()) == (None, [])


def test_responses_of_json():
    response = Response.from_html(
        "http://h.test/", json.dumps(DATA), headers={"content-type": "application/json"}
    )
    assert response.jmespath("sizes[].name").getall() == ["S", "M"]
    assert response.jmespath("name").re_first("L(.*)") == "amp"
    (request,) = response.follow_all([response.jmespath("html").css("a")[0]])
    assert request.url == "http://h.test/x"
    with pytest.raises(ValueError, match=r"http://h\.test/ is not JSON"):
        Response.from_html("http://h.test/", "<p>").jmespath("a")


@pytest.mark.slow
def test_jmespath_is_loaded_when_it_is_asked_for():
    code = "import sys, gossamer; gossamer.Response, gossamer.Spider; print('jmespath' in sys.modules)"
    assert run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
