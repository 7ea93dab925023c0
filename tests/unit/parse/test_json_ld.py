"""JSON-LD with everything that pages put around and between the JSON, and what articles say in it."""

from __future__ import annotations

import json
import time

import pytest

from gossamer.parse.html import HtmlPage
from gossamer.parse.json_ld import read_values
from gossamer.parse.structured import read_json_ld

X = {"@type": "Product", "name": "x"}
TEXT = json.dumps(X)

AROUND = {
    "CDATA behind line comments": f"// <![CDATA[\n{TEXT}\n// ]]>",
    "CDATA behind line comments, all on one line": f"//<![CDATA[ {TEXT} //]]>",
    "CDATA in comments": f"/*<![CDATA[*/{TEXT}/*]]>*/",
    "CDATA in comments with blanks": f"/* <![CDATA[ */\n{TEXT}\n/* ]]> */",
    "CDATA alone": f"<![CDATA[{TEXT}]]>",
    "CDATA as Drupal writes it": f"<!--//--><![CDATA[//><!--\n{TEXT}\n//--><!]]>",
    "a comment of HTML": f"<!-- {TEXT} -->",
    "a comment of HTML before it": f"<!-- schema > by a plugin -->\n{TEXT}\n<!-- / schema -->",
    "comments within": '{"@type": "Product", // what it is\n/* its "name" */ "name": "x"}',
    "a line comment before it": f'// "made" by hand\n{TEXT}',
    "byte-order mark": f"\ufeff{TEXT}",
    "no-break and zero-width blanks": f"\u200b{TEXT.replace(' ', chr(0xA0))}\u2060",
    "comma before a brace": '{"@type": "Product", "name": "x",}',
    "comma before a brace, with a comment": '{"@type": "Product", "name": "x", /* end */\n}',
    "comma behind a brace": '{, "@type": "Product", "name": "x"}',
    "no comma between members": '{"@type": "Product"\n "name": "x"}',
    "two commas": '{"@type": "Product",, "name": "x"}',
    "comma before a bracket": f"[{TEXT},]",
    "character references": TEXT.replace('"', "&quot;"),
    "numeric character references": TEXT.replace('"', "&#34;"),
    "semicolon": f"{TEXT};",
    "markup behind it": f"{TEXT}</div>",
    "a brace too many": f"{TEXT}}}",
    "a list in a list": f"[[{TEXT}]]",
    "a graph of one": f'{{"@context": "https://schema.org", "@graph": {TEXT}}}',
}


def page_of(*blocks, head="", body="", kind="application/ld+json"):
    scripts = "".join(f'<script type="{kind}">{block}</script>' for block in blocks)
    html = f"<html><head>{head}{scripts}</head><body>{body}</body></html>"
    return HtmlPage(html.encode(), "https://news.example/a", "text/html; charset=utf-8")


def blocks_of(page):
    return read_json_ld(page)


@pytest.mark.parametrize("block", AROUND.values(), ids=AROUND)
def test_a_block_is_read_whatever_is_around_its_json(block):
    assert blocks_of(page_of(block)) == [X]


@pytest.mark.parametrize(
    "kind",
    [
        "application/ld+json; charset=utf-8",
        "application/ld+json;profile=http://x/y",
        " Application/LD+JSON ",
        "application/ld+json ;",
    ],
)
def test_a_type_with_parameters_is_json_ld(kind):
    assert blocks_of(page_of(TEXT, kind=kind)) == [X]


@pytest.mark.parametrize(
    "kind", ["application/json", "text/plain", "application/ld+json2", "x/application/ld+json"]
)
def test_other_types_are_not_json_ld(kind):
    assert blocks_of(page_of(TEXT, kind=kind)) == []


@pytest.mark.parametrize("between", ["", "\n", ",", ";\n", " , \n", "\n// next\n", "<!-- next -->"])
def test_several_objects_in_one_block(between):
    assert blocks_of(page_of(f"{TEXT}{between}{TEXT}{between}{TEXT}")) == [X, X, X]
    if ";" not in between:
        assert blocks_of(page_of(f"[{TEXT}{between}{TEXT}]")) == [X, X]


STRINGS = {
    "marks in a string stay": ('{"u": "http://h/ // <!-- x --> /* ,} <![CDATA[ ]]>",}',
                               "http://h/ // <!-- x --> /* ,} <![CDATA[ ]]>"),
    "escaped quotes": (r'{"u": "a \"b\", ]",}', 'a "b", ]'),
    "escaped backslash at the end": (r'{"u": "a\\",}', "a\\"),
    "escapes that JSON does not know": (r'{"u": "it\'s \d",}', "it's d"),
    "line ends and tabs": ('{"u": "a\n\tb",}', "a\n\tb"),
    "references in a whole block stay": ('{"u": "a &quot;b&quot;"}', "a &quot;b&quot;"),
    "letters outside ASCII": ('{"u": "Grüße \u2028 \ufeff",}', "Grüße \u2028 \ufeff"),
}  # fmt: skip


@pytest.mark.parametrize(("block", "value"), STRINGS.values(), ids=STRINGS)
def test_mending_leaves_strings_alone(block, value):
    assert read_values(block) == [{"u": value}]


@pytest.mark.parametrize(
    "block", ["", "nothing", '{"a": ', "{'a': 1}", '{"a" 1}', "&quot;", "<!-- x -->", "// x"]
)
def test_a_block_without_json_has_no_objects(block):
    assert [value for value in read_values(block) if isinstance(value, dict)] == []


HOSTILE = [
    "<!--",
    "/*",
    "//",
    '"\\',
    ",",
    ", ",
    "[",
    '{"a":',
    "&quot;",
    "<![CDATA[",
    "/* ",
    "// ",
    "<!-- -",
    "-",
    "/*\n",
]


@pytest.mark.parametrize("part", HOSTILE)
def test_reading_takes_time_in_proportion_to_the_block(part):
    def seconds(size):
        began = time.process_time()
        read_values(part * (size // len(part)))
        return time.process_time() - began

    assert seconds(400_000) < 16 * max(seconds(50_000), 0.01)


# --------------------------------------------------------------------------- articles

PROSE = "".join(
    f"<p>Sentence number {n}, which says something at length, and more of it.</p>" for n in range(12)
)
ANN = {"@type": "Person", "@id": "https://news.example/#ann", "name": "Ann"}
ARTICLES = {
    "a news article": (
        [{"@type": "NewsArticle", "datePublished": "2024-02-05", "author": {"name": "A B"}}],
        ("A B", "2024-02-05", ""),
    ),
    "full names of types": (
        [{"@type": ["https://schema.org/BlogPosting", "x"], "dateModified": "2024-03-01", "author": "Ann"}],
        ("Ann", "", "2024-03-01"),
    ),
    "several authors": (
        [
            {
                "@type": "Article",
                "author": [{"name": "A &amp; B"}, "C", {"givenName": "D", "familyName": "E"}, "C"],
            }
        ],
        ("A & B, C, D E", "", ""),
    ),
    "a list in a list of authors": (
        [{"@type": "Article", "author": [["Ann", {"name": "B"}]]}],
        ("Ann, B", "", ""),
    ),
    "an author without a name, and a creator": (
        [{"@type": "Article", "author": {"@type": "Person", "name": " "}, "creator": ["Ann"]}],
        ("Ann", "", ""),
    ),
    "an author named by its place on the page": (
        [
            {
                "@graph": [
                    {"@type": "WebPage", "datePublished": "2024-01-01", "dateModified": "2024-01-02"},
                    {"@type": "Article", "author": {"@id": ANN["@id"]}},
                    ANN,
                ]
            }
        ],
        ("Ann", "2024-01-01", "2024-01-02"),
    ),
    "an author whose name is a list, dates with a type": (
        [
            {
                "@type": "TechArticle",
                "author": {"name": ["Ann", "A."]},
                "datePublished": {"@value": "2024-01-05"},
            }
        ],
        ("Ann", "2024-01-05", ""),
    ),
    "the article that a page is about": (
        [
            {
                "@type": "WebPage",
                "mainEntity": {"@type": "Report", "datePublished": "2024-05-05", "creator": "Ann"},
            }
        ],
        ("Ann", "2024-05-05", ""),
    ),
    "of several articles the one with the page's URL": (
        [
            {
                "@type": "NewsArticle",
                "url": "https://news.example/other",
                "author": "No",
                "datePublished": "2020-01-01",
            },
            {
                "@type": "NewsArticle",
                "mainEntityOfPage": {"@id": "https://news.example/a#x"},
                "author": "Ann",
                "datePublished": "2024-02-02",
            },
        ],
        ("Ann", "2024-02-02", ""),
    ),
    "links are no names": (
        [{"@type": "Article", "author": "https://x.example/ann", "datePublished": "2024"}],
        ("Byline", "2024", ""),
    ),
    "other things on the page": (
        [
            {"@type": "Product", "review": [{"author": "No", "datePublished": "2020"}]},
            {"@type": "Review", "author": "No"},
            {"@type": "Organization", "name": "No"},
        ],
        ("Byline", "2023-01-01", "2023-06-06"),
    ),
    "values of no sense": (
        [
            {"@type": 5, "author": "No"},
            {
                "@type": "Article",
                "author": 7,
                "datePublished": None,
                "mainEntityOfPage": [None, 3],
                "@graph": 4,
            },
        ],
        ("Byline", "2023-01-01", "2023-06-06"),
    ),
}


@pytest.mark.parametrize(("objects", "facts"), ARTICLES.values(), ids=ARTICLES)
def test_an_article_takes_author_and_dates_from_json_ld(objects, facts):
    head = "<meta name=author content=Byline>"
    if "2023-06-06" in facts:
        head += "<meta property=article:modified_time content=2023-06-06>"
    time_tag = "<time datetime=2023-01-01>then</time>" if "2023-01-01" in facts else ""
    page = page_of(json.dumps(objects), head=head, body=f"<article><h1>Head</h1>{time_tag}{PROSE}</article>")
    article = page.article()
    author, published, modified = facts
    assert (article.author, article.published, article.modified) == (author or "Byline", published, modified)
