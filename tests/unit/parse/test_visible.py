"""The text of a page is what a reader sees of it: nothing hidden, and no two controls run into each other."""

from __future__ import annotations

import pytest

from gossamer.parse.html import HtmlPage

CONTROLS = [
    ("<button>one</button><a>tab</a>", "one tab"),
    ("<button>one</button><button>two</button>", "one two"),
    ("<a>Home</a><a>About</a><a>Help</a>", "Home About Help"),
    ("<a>one</a><!-- --><a>two</a>", "one two"),
    ("<span><a>one</a></span><span><a>two</a></span>", "one two"),
    ("<span><button>one</button></span><b><a>tab</a></b>", "one tab"),
    ("<select><option>a<option>b</select><select><option>c</select>", "a b c"),
    ("<label>name</label><input><label>mail</label>", "name mail"),
    ("<label>A<input type=checkbox></label><label>B</label>", "A B"),
    ("<textarea>a</textarea><textarea>b</textarea>", "a b"),
    ("<p>read<button>more</button>of it</p>", "read more of it"),
    ("<meter>1</meter><progress>2</progress>", "1 2"),
    ("size<input value=9>cm", "size cm"),
    ("<span role=button>a</span><span role=button>b</span><i role=tab>c</i>", "a b c"),
    ("read<span role=button>more</span>of it", "read more of it"),
    ("<dialog open>Hello</dialog>there", "Hello there"),
    # Words that go on stay whole.
    ("<p>a<b>b</b>c</p>", "abc"),
    ("<a>Gossamer</a>s and <a>thread</a>s", "Gossamers and threads"),
    ("pre<a>fix</a>", "prefix"),
    ("a<input type=hidden>b", "ab"),
    ("<b>Go</b><a>ing</a>", "Going"),
    ("<button> one </button> <a>tab</a>", "one tab"),
]
HIDDEN = [
    ("<p hidden>no</p>yes", "yes"),
    ("<p hidden=''>no</p>yes", "yes"),
    ("<p hidden=until-found>no</p>yes", "yes"),
    ("<div hidden><p>no</p><b>no</b></div>yes", "yes"),
    ("<dialog>no</dialog>yes", "yes"),
    ("<dialog><dialog open>no</dialog></dialog>yes", "yes"),
    ("<template><p>no</p></template>yes", "yes"),
    ("<template shadowrootmode=open><p>no</p></template>yes", "yes"),
    ("<div popover>no</div>yes", "yes"),
    ("<iframe><p>no</p></iframe>yes", "yes"),
    ("<video>no <a>no</a></video><audio controls>no</audio><canvas>no</canvas>yes", "yes"),
    ("<svg><title>no</title><desc>no</desc><text>yes</text></svg>", "yes"),
    ("<button><svg><defs><text>no</text></defs><symbol><title>no</title></symbol></svg>yes</button>", "yes"),
    ("<math><semantics><mi>yes</mi><annotation>no</annotation></semantics></math>", "yes"),
    ("<math><mi>yes</mi><annotation-xml encoding=text/html><p>no</p></annotation-xml></math>", "yes"),
    ("<script>no</script><style>no</style>yes", "yes"),
    ("<html hidden><body hidden>yes", "yes"),  # a script would show it
    ("<p aria-hidden=true>yes</p>", "yes"),
    ("<details><summary>yes</summary>yes</details>", "yes\n\nyes"),
    ("<noscript>yes</noscript>", "yes"),
]


@pytest.mark.parametrize(("html", "text"), CONTROLS + HIDDEN)
def test_the_text_is_what_a_reader_sees(html: str, text: str) -> None:
    page = HtmlPage(html.encode(), "http://h/", "text/html; charset=utf-8")
    assert page.visible_text() == page.main_text() == text
    assert page.markdown().count("no") == 0


def test_the_tree_stays_as_it_is() -> None:
    page = HtmlPage(b"<p hidden>a</p><button>b</button><a href=/c>c</a>", "http://h/")
    before = page.document.html
    assert page.visible_text() == "b c"
    assert page.document.html == before
    assert page.selector.css("[hidden]::text").get() == "a"
    assert page.links.urls == ["http://h/c"]


def test_a_page_with_nothing_to_change_is_not_copied() -> None:
    page = HtmlPage(b"<ul><li><a>one</a><li><a>two</a></ul> <button>b</button> <p>c</p>", "http://h/")
    page.visible_text()
    assert page._visible is page.document


@pytest.mark.parametrize("part", ["<button>x</button>", "<span>" * 9 + "<button>", "<a>x</a>", "<p hidden>"])
def test_many_controls_are_read_in_bounded_time(part: str) -> None:
    HtmlPage((part * 5000).encode(), "http://h/").visible_text()
