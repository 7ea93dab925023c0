"""JSON-LD, OpenGraph and microdata."""

from __future__ import annotations

import json

import pytest

from gossamer.parse.html import HtmlPage
from gossamer.parse.structured import read_json_ld, read_microdata, read_opengraph
from kit.corpora import corpus, from_corpus


def page_of(html: str):
    return HtmlPage(html.encode(), "https://example.com/a/b", "text/html; charset=utf-8")


@from_corpus("structured/schema.org")
def test_json_ld_of_the_corpus():
    folder = corpus("structured/schema.org")
    page = HtmlPage((folder / "CreativeWork.001.html").read_bytes(), "https://example.com/")
    assert read_json_ld(page) == json.loads((folder / "CreativeWork.001.jsonld").read_text())


def test_json_ld_as_it_is_found():
    page = page_of(
        '<script type="application/ld+json">[{"@type": "A"}, 5, {"@type": "B"}]</script>'
        '<script type="Application/LD+JSON"><!-- {"@context": "x",'
        '"@graph": [{"@type": "C"}, "no"]} --></script>'
        '<script type="application/ld+json">{"broken": </script>'
        '<script type="application/ld+json">{"@type": "D", "text": "two\nlines"};</script>'
        f'<script type="application/ld+json">{"[" * 100_000}</script>'
        "<script>{}</script>"
    )
    assert [entry["@type"] for entry in read_json_ld(page)] == ["A", "B", "C", "D"]


def test_opengraph():
    page = page_of(
        "<meta property='og:title' content=' T '><meta property=og:title content=second>"
        "<meta property=OG:image content='/i.png'><meta name=description content=no>"
        "<meta property=og:url content=c>"
    )
    assert read_opengraph(page) == {
        "title": "T",
        "image": "https://example.com/i.png",
        "url": "https://example.com/a/c",
    }
    assert read_opengraph(page_of("")) == {}


def test_json_ld_of_a_page_with_everything_around_it():
    thing = {
        "@context": "https://schema.org/",
        "@type": "Recipe",
        "name": "Grütze & </b> \u2028 “red”",
        "author": {"@type": "Person", "name": "Ann"},
        "nutrition": {"calories": 270.5, "fat": None, "vegan": True},
        "steps": ["wash", "boil", ["stir", "stir"]],
    }
    text = json.dumps(thing, ensure_ascii=False, indent=1)
    page = page_of(
        '<!doctype html><html><head><script>var x = \'{"@type": "No"}\'</script>'
        f"<script async type='application/ld+json' id=x>\n{text}\n</script>"
        '</head><body><!-- <script type=\'application/ld+json\'>{"@type": "No"}</script> --><p>{}</p></body>'
    )
    assert read_json_ld(page) == [thing]


def test_microdata_of_an_event_with_nested_items():
    page = page_of(
        "<section itemscope itemtype='https://schema.org/Event https://schema.org/Festival'>"
        "<h1 itemprop=name>Night <em>of</em> Lamps</h1>"
        "<time itemprop=startDate datetime=2031-05-08>May</time>"
        "<div itemprop=location itemscope itemtype=https://schema.org/Place><span itemprop=name>Barn</span>"
        "<p itemprop='address' itemscope itemtype=https://schema.org/PostalAddress>"
        "<meta itemprop=postalCode content=12345><i itemprop=addressLocality>Elmton</i></p></div>"
        "<ul><li itemprop=performer>Ann<li itemprop=performer>Bo</ul><img itemprop=image src=i.png>"
        "<p itemscope itemtype=https://schema.org/Offer><data itemprop=price value=7.50>cheap</data></p>"
        "</section>"
    )
    place = ("https://schema.org/Place", {"name": ["value"], "address": [shape_of_address()]})
    assert [shape(item) for item in read_microdata(page)] == [
        (
            "https://schema.org/Event https://schema.org/Festival",
            {"name": ["value"], "startDate": ["value"], "location": [place], "performer": ["value"] * 2,
             "image": ["value"]},
        ),
        ("https://schema.org/Offer", {"price": ["value"]}),
    ]  # fmt: skip
    event, offer = read_microdata(page)
    found = event["properties"]
    assert (found["startDate"], found["image"]) == (["2031-05-08"], ["https://example.com/a/i.png"])
    assert (found["performer"], offer["properties"]["price"]) == (["Ann", "Bo"], ["7.50"])


def shape_of_address():
    return ("https://schema.org/PostalAddress", {"postalCode": ["value"], "addressLocality": ["value"]})


MICRODATA = ["Event.001", "Event.002", "Event.003", "Event.004", "MusicRecording.001", "LocalBusiness.002"]


@from_corpus("structured/schema.org")
@pytest.mark.parametrize("name", MICRODATA)
def test_microdata_of_the_corpus(name):
    """Types and property names as another extractor sees them; it joins text in its own way."""
    folder = corpus("structured/schema.org")
    expected = json.loads((folder / f"{name}.json").read_text())
    page = HtmlPage((folder / f"{name}.html").read_bytes(), "http://blog.example.com/")
    assert [shape(item) for item in read_microdata(page)] == [shape(item) for item in expected]


def shape(item):
    if not isinstance(item, dict):
        return "value"
    properties = {
        name: [shape(value) for value in (values if isinstance(values, list) else [values])]
        for name, values in item.get("properties", {}).items()
    }
    kind = item.get("type")
    return (kind if isinstance(kind, str) or kind is None else " ".join(kind), properties)


def test_microdata_values():
    page = page_of(
        "<div itemscope itemtype=https://schema.org/Person itemid=urn:x><b itemprop=name>Ann</b>"
        "<a itemprop='url sameAs' href=/ann>x</a><div itemprop=job itemscope>"
        "<i itemprop=title>T</i></div></div>"
    )
    assert read_microdata(page) == [
        {
            "type": "https://schema.org/Person",
            "id": "urn:x",
            "properties": {
                "name": ["Ann"],
                "url": ["https://example.com/ann"],
                "sameAs": ["https://example.com/ann"],
                "job": [{"properties": {"title": ["T"]}}],
            },
        }
    ]
