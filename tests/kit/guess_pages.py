"""Pages of many kinds, made here, with the reading that a person would choose: a list, or one thing."""

# ruff: noqa: E501 - markup

from __future__ import annotations

from typing import NamedTuple

PROSE = (
    "The lamp makers of the valley have worked by hand for three hundred years, and nobody thought that this "
    "would change. Then the mill closed, the road was moved, and within a summer half of the shops stood empty. "
)


class GuessPage(NamedTuple):
    """A page, and the required findings of a proposal for it."""

    body: str
    size: int  # items; 1: the page is about one thing
    values: tuple[str, ...]  # that the first item has to hold
    without: tuple[str, ...] = ()  # that no item may hold
    other: str = ""  # words of the other reading, where there is one


def _frame(main: str, *, head: str = "", after: str = "") -> str:
    menu = "".join(
        f'<li><a href="/m/{word}">{word.title()}</a></li>' for word in ("home", "shop", "about", "help")
    )
    foot = "".join(f'<li><a href="/f/{n}">Imprint {n}</a></li>' for n in range(4))
    return (
        f"<html><head><title>Page | Site</title>{head}</head><body><header>"
        f"<nav><ul>{menu}</ul></nav></header>"
        f"<main>{main}</main>{after}<footer><ul>{foot}</ul></footer></body></html>"
    )


def _cards(count: int, name: str = "card", word: str = "Lamp") -> str:
    return "".join(
        f'<div class="{name}"><a href="/p/{n}"><img src="/i/{n}.jpg"><h3>{word} {n}</h3></a>'
        f'<span class="price">\u20ac {n + 5}.50</span></div>'
        for n in range(count)
    )


def _links(count: int) -> str:
    return "".join(
        f'<li class="story"><a href="/s/{n}">Story number {n}</a><span class="when">{n + 1} May</span></li>'
        for n in range(count)
    )


PRODUCT = '<h1>Arc lamp</h1><img src="/i/arc.jpg"><p class="price">\u20ac 49.00</p><p>A lamp that bends.</p>'
SPEC = "".join(
    f"<tr><th>{name}</th><td>{value}</td></tr>"
    for name, value in (("Weight", "2.5 kg"), ("Colour", "Brass"), ("Height", "180 cm"), ("Power", "40 W"))
)
ARTICLE = "<h1>The valley of lamps</h1>" + f"<p>{PROSE}</p>" * 6
TERMS = "".join(f"<dt>Term {n}</dt><dd>The meaning of number {n}, at some length.</dd>" for n in range(10))
FACTS = "<dl><dt>Weight</dt><dd>2.5 kg</dd><dt>Colour</dt><dd>Brass</dd><dt>Height</dt><dd>180 cm</dd></dl>"

PAGES = {
    "a grid of products": GuessPage(
        _frame(f"<h1>Lamps</h1><div class=grid>{_cards(12)}</div>"), 12, ("Lamp 0", "5.50")
    ),
    "rows of a table": GuessPage(
        _frame(
            "<h1>Towns</h1><table><thead><tr><th>Town</th><th>People</th><th>Open</th></tr></thead><tbody>"
            + "".join(f"<tr><td>Town {n}</td><td>{n * 70 + 3}</td><td>{n} days</td></tr>" for n in range(9))
            + "</tbody></table>"
        ),
        9,
        ("Town 0", "0 days"),
    ),
    "results of a search": GuessPage(
        _frame(
            "<h1>Results for lamp</h1><ol>"
            + "".join(
                f'<li class="result"><h2><a href="/r/{n}">Result {n}</a></h2><p class="snippet">About {n}. {PROSE}</p></li>'
                for n in range(10)
            )
            + "</ol>"
        ),
        10,
        ("Result 0",),
    ),
    "the index of a blog": GuessPage(
        _frame(
            "<h1>Blog</h1>"
            + "".join(
                f'<article class="post"><h2><a href="/b/{n}">Post {n}</a></h2><time datetime="2026-01-{n + 10}">x</time>'
                f"<p>Of {n}. {PROSE}</p></article>"
                for n in range(6)
            )
        ),
        6,
        ("Post 0", "2026-01-10T00:00:00"),
    ),
    "posts of a forum": GuessPage(
        _frame(
            "<h1>How do I bend it?</h1>"
            + "".join(
                f'<div class="message"><b class="user">user{n}</b><div class="body"><p>Answer {n}. {PROSE}</p></div></div>'
                for n in range(7)
            )
        ),
        7,
        ("user0",),
    ),
    "questions and answers": GuessPage(
        _frame(
            "<h1>Help</h1>"
            + "".join(
                f'<section class="faq"><h3>Question {n}?</h3><p>Answer {n}, which is long enough.</p></section>'
                for n in range(8)
            )
        ),
        8,
        ("Question 0?",),
    ),
    "jobs": GuessPage(
        _frame(
            "<h1>Jobs</h1><ul class=jobs>"
            + "".join(
                f'<li class="job"><a class="name" href="/j/{n}">Job {n}</a><span class="city">City {n}</span>'
                f'<span class="firm">Firm {n}</span></li>'
                for n in range(15)
            )
            + "</ul>"
        ),
        15,
        ("Job 0", "City 0"),
    ),
    "a product by JSON-LD": GuessPage(
        _frame(
            "<h1>Arc lamp</h1>" + f'<div class="also">{_cards(4)}</div>',
            head='<script type="application/ld+json">{"@type": "Product", "name": "Arc lamp", "sku": "A-1"}</script>',
        ),
        1,
        ("Arc lamp", "A-1"),
        ("Lamp 1",),
    ),
    "a product by its heading": GuessPage(_frame(PRODUCT), 1, ("Arc lamp", "49.00")),
    "a product with what others bought": GuessPage(
        _frame(f"{PRODUCT}<h2>Customers also bought</h2><div class=grid>{_cards(6)}</div>"),
        1,
        ("Arc lamp", "49.00"),
        ("Lamp 1",),
        "div.card",
    ),
    "a product with many of what others bought": GuessPage(
        _frame(PRODUCT, after=f"<section class=carousel>{_cards(16, 'tile')}</section>"),
        1,
        ("Arc lamp", "49.00"),
        ("Lamp 1",),
        "div.tile",
    ),
    "a product with a table of its properties": GuessPage(
        _frame(f"{PRODUCT}<table class=spec>{SPEC}</table>"), 1, ("Arc lamp", "49.00", "2.5 kg", "Brass")
    ),
    "a product with a list of its properties": GuessPage(
        _frame(f"{PRODUCT}{FACTS}"), 1, ("Arc lamp", "49.00", "2.5 kg", "Brass")
    ),
    "a list of definitions": GuessPage(
        _frame(f"<h1>Glossary</h1><dl>{TERMS}</dl>"),
        10,
        ("Term 0", "The meaning of number 0, at some length."),
    ),
    "a plain article": GuessPage(_frame(f"<article>{ARTICLE}</article>"), 1, ("The valley of lamps",)),
    "an article without any markup of its own": GuessPage(
        f"<html><body>{ARTICLE}</body></html>", 1, ("The valley of lamps",)
    ),
    "an article with an aside": GuessPage(
        _frame(
            f"<article>{ARTICLE}</article>", after=f"<aside><h2>Most read</h2><ul>{_links(10)}</ul></aside>"
        ),
        1,
        ("The valley of lamps",),
        ("Story number 1",),
        "li.story",
    ),
    "an article with comments": GuessPage(
        _frame(
            f"<article>{ARTICLE}</article><section id=talk>"
            + "".join(
                f'<div class="reply"><b class="who">user{n}</b><p>I agree, number {n}.</p></div>'
                for n in range(9)
            )
            + "</section>"
        ),
        1,
        ("The valley of lamps",),
        ("user1",),
        "div.reply",
    ),
    "a list with an introduction": GuessPage(
        _frame(f"<h1>Lamps</h1><p>{PROSE}</p><div class=grid>{_cards(20)}</div>"), 20, ("Lamp 0", "5.50")
    ),
    "a list with a long introduction": GuessPage(
        _frame(f"<h1>Lamps</h1><p>{PROSE}</p><p>{PROSE}</p><p>{PROSE}</p><div class=grid>{_cards(20)}</div>"),
        20,
        ("Lamp 0", "5.50"),
    ),
    "a list with a long text below it": GuessPage(
        _frame(f"<h1>Lamps</h1><div class=grid>{_cards(9)}</div>" + f"<p>{PROSE}</p>" * 6),
        9,
        ("Lamp 0", "5.50"),
    ),
    "a blog with a long introduction": GuessPage(
        _frame(
            f"<h1>Blog</h1><p>{PROSE}</p><p>{PROSE}</p>"
            + "".join(
                f'<div class="entry"><h2><a href="/b/{n}">Post {n}</a></h2><p>Of {n}. {PROSE}</p></div>'
                for n in range(6)
            )
        ),
        6,
        ("Post 0",),
    ),
    "an article with many long comments": GuessPage(
        _frame(
            f"<article>{ARTICLE}</article>"
            + "".join(
                f'<div class="comment"><b class="who">user{n}</b><p>As to {n}: {PROSE}</p></div>'
                for n in range(30)
            )
        ),
        1,
        ("The valley of lamps",),
        ("user1",),
        "div.comment",
    ),
    "an article behind an aside": GuessPage(
        f"<body><aside><ul>{_links(12)}</ul></aside><article>{ARTICLE}</article></body>",
        1,
        ("The valley of lamps",),
        ("Story number 1",),
        "li.story",
    ),
    "an article with a table in it": GuessPage(
        _frame(
            f"<article>{ARTICLE}<table class=data>"
            + "".join(
                f"<tr><td>{1900 + n}</td><td>{n * 3} mills</td><td>{n} roads</td></tr>" for n in range(8)
            )
            + "</table></article>"
        ),
        1,
        ("The valley of lamps",),
        (),
        "tr",
    ),
    "a product with reviews": GuessPage(
        _frame(
            PRODUCT
            + "".join(
                f'<div class="review"><b class="who">user{n}</b><p>Number {n}. {PROSE}</p></div>'
                for n in range(12)
            )
        ),
        1,
        ("Arc lamp", "49.00"),
        ("user1",),
        "div.review",
    ),
    "a product with a table without headings": GuessPage(
        _frame(f"{PRODUCT}<table class=spec>{SPEC.replace('th>', 'td>')}</table>"),
        1,
        ("Arc lamp", "49.00", "2.5 kg"),
    ),
    "a thing with properties and without a price": GuessPage(
        _frame(f'<h1>Arc lamp</h1><img src="/i/arc.jpg"><table class=infobox>{SPEC}</table>'),
        1,
        ("Arc lamp", "2.5 kg"),
    ),
    "a glossary that is described": GuessPage(
        _frame(
            f"<h1>Glossary</h1><dl class=terms>{TERMS}</dl>",
            head='<meta name="description" content="All terms.">',
        ),
        10,
        ("Term 0",),
    ),
    "a table of two columns": GuessPage(
        _frame(
            "<h1>Towns</h1><table>"
            + "".join(f"<tr><td>Town {n}</td><td>{n * 7} km</td></tr>" for n in range(9))
            + "</table>"
        ),
        9,
        ("Town 0", "0 km"),
    ),
    "an article whose heading is of the second rank": GuessPage(
        _frame(ARTICLE.replace("h1>", "h2>")), 1, ("The valley of lamps",)
    ),
    "a product whose heading is of the second rank": GuessPage(
        _frame(f"{PRODUCT.replace('h1>', 'h2>')}<table class=spec>{SPEC}</table>"),
        1,
        ("Arc lamp", "49.00", "2.5 kg"),
    ),
    "a list with a longer one in an aside": GuessPage(
        _frame(f"<h1>Lamps</h1>{_cards(6)}", after=f"<aside><ul>{_links(40)}</ul></aside>"),
        6,
        ("Lamp 0", "5.50"),
        ("Story number 0",),
    ),
    "a glossary whose terms are links": GuessPage(
        _frame(
            "<h1>Glossary</h1><dl>"
            + "".join(
                f'<dt><a href="/t/{n}">Term {n}</a></dt><dd>The meaning of number {n}.</dd>'
                for n in range(10)
            )
            + "</dl>"
        ),
        10,
        ("Term 0", "The meaning of number 0.", "http://site.test/t/0"),
    ),
}
