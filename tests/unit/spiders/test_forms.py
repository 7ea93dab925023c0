"""Forms are sent as a browser sends them, filled in by the names of their fields."""

from __future__ import annotations

import warnings
from decimal import Decimal
from email import message_from_bytes
from html import escape
from urllib.parse import parse_qsl

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scrapy.exceptions import ScrapyDeprecationWarning
from scrapy.http import FormRequest, HtmlResponse

from gossamer import FormFile
from gossamer.core.errors import UsageError
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult
from gossamer.spiders.response import Response

URL = "https://club.example/a/login?from=x#top"


def page(html, url=URL, content_type="text/html; charset=utf-8"):
    body = html if isinstance(html, bytes) else html.encode()
    headers = (("content-type", content_type),)
    fetched = FetchResult(
        url=url, status=200, headers=headers, body=body, started_at=0, latency_s=0, elapsed_s=0, rung="http"
    )
    return Response(Request(url), fetched)


def sent(request):
    return parse_qsl(request.body.decode(), keep_blank_values=True)


def test_what_a_browser_would_send_is_sent():
    request = page("""<form method=POST action="../session?x=1">
        <input type=hidden name=token value="a&amp;b c"> <input name=user value=old> <input name=off disabled>
        <input value=nameless> <input type=checkbox name=yes checked> <input type=checkbox name=no>
        <input type=radio name=r value=1> <input type=radio name=r value=2 checked>
        <select name=one><option disabled>0<option value=1>One<option>Two</select>
        <select name=more multiple><option selected>a<option>b<option selected value=c>C</select>
        <select name=none multiple><option>a</select> <textarea name=text>
line</textarea> <input type=file name=f> <input type=reset name=x> <button type=button name=y>n</button>
        <input type=submit name=go value=In> <button name=other value=1>Other</button>
        </form>""").form({"user": "me@example.org", "extra": ["1", "2"], "yes": None})
    assert (request.method, request.url) == ("POST", "https://club.example/session?x=1")
    assert request.headers["Content-Type"] == "application/x-www-form-urlencoded"
    assert request.headers["Referer"] == "https://club.example/a/login?from=x"
    assert sent(request) == [
        ("token", "a&b c"),
        ("user", "me@example.org"),
        ("r", "2"),
        ("one", "1"),
        ("more", "a"),
        ("more", "c"),
        ("text", "line"),
        ("f", ""),
        ("go", "In"),
        ("extra", "1"),
        ("extra", "2"),
    ]


@pytest.mark.parametrize(
    ("data", "css", "action"),
    [
        ({}, "", "/in"),  # of equals the one that asks for a password
        ({"mail": "x"}, "", "/news"),
        ({"q": "x", "user": "x", "word": "y"}, "", "/in"),
        ({"user": "x"}, "#find", "/find"),
    ],
)
def test_the_form_that_a_person_would_fill_in(data, css, action):
    response = page("""<form action=/find id=find><input name=q></form>
        <form action=/in method=post><input name=user><input name=word type=password></form>
        <form action=/news method=post><input name=mail></form>""")
    assert response.form(data, css=css).url.partition("?")[0] == f"https://club.example{action}"


def test_a_form_that_is_got_replaces_the_query():
    request = page('<form action="/find?old=1"><input name=q value=1></form>').form({"q": "a b&c"})
    assert (request.method, request.url, request.body) == ("GET", "https://club.example/find?q=a+b%26c", b"")


def test_fields_outside_of_the_form_that_name_it():
    request = page("""<input name=a value=1 form=f><form id=f method=post>
        <input name=b value=2><input name=c value=3 form=other></form>""").form()
    assert sent(request) == [("a", "1"), ("b", "2")]


def test_values_are_sent_in_the_charset_of_the_page():
    response = page(
        "<form method=post><input name=n value='é'></form>".encode("latin-1"),
        content_type="text/html; charset=iso-8859-1",
    )
    assert response.form({"x": "é日"}).body == b"n=%E9&x=%E9%26%2326085%3B"


def test_nobody_else_is_told_the_whole_address_of_the_page():
    request = page("<form method=post action=https://sso.example/in><input name=a></form>").form()
    assert (request.url, request.headers["Referer"]) == ("https://sso.example/in", "https://club.example/")


def test_options_are_those_of_a_request():
    request = page("<form method=post></form>").form(callback="after", priority=2, headers={"X-Me": "1"})
    assert (request.callback, request.priority, request.url) == ("after", 2, URL)
    assert {"X-Me", "Referer", "Content-Type"} <= set(request.headers)


@pytest.mark.parametrize(
    ("html", "css"), [("<p>none", ""), ("<form></form>", "form.other"), ("<p id=p>", "#p")]
)
def test_a_page_without_the_form_says_so(html, css):
    with pytest.raises(ValueError, match="has no form"):
        page(html).form({"a": "b"}, css=css)


def test_a_form_knows_how_it_is_sent():
    with pytest.raises(UsageError, match="leave out method"):
        page("<form></form>").form(method="POST")


BUTTONS = """<form method=post action=/save><input name=a value=1>
    <button disabled name=no>No</button> <input type=submit name=save value=Save>
    <button name=drop value=yes formaction=/drop formmethod=get id=drop>Drop</button>
    <input type=image name=at formenctype="text/plain"> </form>
    <form id=other><button name=other>Other</button></form>"""


@pytest.mark.parametrize(
    ("click", "method", "url", "body"),
    [
        (True, "POST", "/save", b"a=1&save=Save"),
        (False, "POST", "/save", b"a=1"),
        ("#drop", "GET", "/drop?a=1&drop=yes", b""),
        ("[type=image]", "POST", "/save", b"a=1\r\nat.x=0\r\nat.y=0\r\n"),
        ("#other button", "GET", "/a/login?other=", b""),
    ],
)
def test_the_button_that_is_clicked_says_how(click, method, url, body):
    request = page(BUTTONS).form(click=click)
    assert (request.method, request.url, request.body) == (method, f"https://club.example{url}", body)


def test_a_button_that_is_not_there_is_said_with_those_that_are():
    with pytest.raises(ValueError, match=r"'\.buy'; there are: 'Save', 'Drop', 'at', 'Other'"):
        page(BUTTONS).form(click=".buy")


def test_a_form_by_its_number():
    response = page("<form action=/0></form><form action=/1></form>")
    assert [response.form(number=place).url[-2:] for place in (0, 1, -1)] == ["0?", "1?", "1?"]
    with pytest.raises(ValueError, match="no form number 2: there are 2"):
        response.form(number=2)


def test_boxes_are_checked_by_true():
    response = page("""<form method=post><input type=checkbox name=all value=yes> <input name=user>
        <input type=checkbox name=c value=1><input type=checkbox name=c value=2 checked></form>""")
    assert sent(response.form({"all": True, "c": ["1"], "user": 7})) == [
        ("all", "yes"),
        ("user", "7"),
        ("c", "1"),
    ]
    assert sent(response.form({"c": False})) == [("user", "")]
    with pytest.raises(ValueError, match="no checkbox 'user'"):
        response.form({"user": True})


def test_files_and_fields_are_parts_that_any_parser_reads():
    response = page("""<form method=post enctype=multipart/form-data accept-charset="x utf-8">
        <input name='a"b' value="1\n2"><input type=file name=empty><input type=file name=doc></form>""")
    request = response.form({"doc": FormFile('x".txt', b"\x00\xff--", "text/plain")})
    head = f"Content-Type: {request.headers['Content-Type']}\r\n\r\n".encode()
    parts = message_from_bytes(head + request.body).get_payload()
    assert [part.get_payload(decode=True) for part in parts] == [b"1\r\n2", b"", b"\x00\xff--"]
    assert [part.get_filename() for part in parts] == [None, "", "x%22.txt"]
    assert parts[2].get_content_type() == "text/plain"
    assert 'name="a%22b"' in parts[0]["content-disposition"]
    assert response.form({"doc": FormFile('x".txt', b"\x00\xff--", "text/plain")}) == request


def test_a_form_between_the_rows_of_a_table_has_its_fields():
    response = page("""<table><form method=post><tr><td><input name=a value=1></tr>
        <input type=hidden name=b></form></table><form><input name=c></form>""")
    assert sent(response.form(number=0)) == [("a", "1"), ("b", "")]


def test_what_a_fieldset_or_a_datalist_holds_back():
    response = page("""<form method=post><fieldset disabled>
        <legend><input name=a value=1></legend><input name=b>
        <legend><input name=c></legend></fieldset><datalist><input name=d></datalist>
        <input name=e form=""></form>""")
    assert sent(response.form()) == [("a", "1")]


def test_the_charset_is_that_which_the_form_accepts():
    response = page("<form method=post accept-charset='nonsense, utf-8'><input type=hidden name=_charset_>"
                    "<input name=n value=é dirname=d></form>")  # fmt: skip
    assert sent(response.form()) == [("_charset_", "UTF-8"), ("n", "é"), ("d", "ltr")]


# --------------------------------------------------------------------------- against a model

names = st.sampled_from(["a", "b", "c d", "é"])
values = st.sampled_from(["", "1", "x y", '<"&>', "é"])
flags = st.booleans()
options = st.lists(st.tuples(values, flags, flags), max_size=3)
controls = st.one_of(
    st.tuples(
        st.just("input"), names, values, st.sampled_from(["text", "hidden", "", "odd", "email"]), flags
    ),
    st.tuples(st.just("checkbox"), names, values, flags, flags),
    st.tuples(st.just("select"), names, options, flags, flags),
    st.tuples(st.just("textarea"), names, values, st.just(None), flags),
    st.tuples(st.just("submit"), names, values, st.sampled_from(["button", "input"]), flags),
    st.tuples(st.just("reset"), names, values, st.just(None), flags),
)


def html_of(control):
    kind, name, value, more, is_disabled = control
    common = f'name="{escape(name)}"' + (" disabled" if is_disabled else "")
    if kind == "select":
        listed = "".join(
            f'<option value="{escape(one)}"{" selected" * chosen}{" disabled" * off}>t'
            for one, chosen, off in value
        )
        return f"<select {common}{' multiple' * more}>{listed}</select>"
    if kind == "textarea":
        return f"<textarea {common}>\n{escape(value)}</textarea>"
    if kind == "submit" and more == "button":
        return f'<button {common} value="{escape(value)}">x</button>'
    written = more if kind == "input" else kind
    checked = " checked" if kind == "checkbox" and more else ""
    return f'<input type="{written}" {common}{checked} value="{escape(value)}">'


def entries_of(form):
    """What the standard has a browser send, said of the model and not of a page."""
    entries, is_clicked = [], False
    for kind, name, value, more, is_disabled in form:
        if is_disabled or kind == "reset":
            continue
        if kind == "submit":
            entries += [] if is_clicked else [(name, value)]
            is_clicked = True
        elif kind == "checkbox":
            entries += [(name, value)] if more else []
        elif kind == "select":
            selected = [one for one in value if one[1]]
            if not more:
                selected = selected[-1:] or [one for one in value if not one[2]][:1]
            entries += [(name, text) for text, _, off in selected if not off]
        else:
            entries.append((name, value))
    return entries


@given(st.lists(controls, max_size=8))
@example([("select", "a", [("1", True, True), ("x y", False, False)], False, False)])
def test_whatever_a_form_holds_is_sent_as_the_standard_says(form):
    html = "".join(map(html_of, form))
    assert sent(page(f"<form method=post>{html}</form>").form()) == entries_of(form)


@given(st.lists(controls, max_size=6), names, values)
def test_what_is_filled_in_takes_the_first_place_of_its_name(form, name, value):
    html = "".join(map(html_of, form))
    request = page(f"<form method=post>{html}</form>").form({name: value}, click=False)
    unclicked = [control for control in form if control[0] not in ("submit", "reset")]
    others = [entry for entry in entries_of(unclicked) if entry[0] != name]
    assert [entry for entry in sent(request) if entry[0] != name] == others
    assert [entry for entry in sent(request) if entry[0] == name] == [(name, value)]


@given(st.lists(controls, max_size=6), st.dictionaries(names, values, max_size=2))
def test_scrapy_sends_the_same_for_what_it_knows(form, data):
    """It does not know what is disabled, nor that a textarea may begin with an empty line."""
    known = [one for one in form if not one[4] and one[0] != "submit" and is_plain(one)]
    html = f"<form method=post>{''.join(map(html_of, known))}</form>"
    scrapys = HtmlResponse(URL, body=html.replace(">\n", ">").encode(), encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScrapyDeprecationWarning)
        request = FormRequest.from_response(scrapys, formdata=data, dont_click=True)
    assert sorted(sent(request)) == sorted(sent(page(html).form(data, click=False)))


def is_plain(control):
    """Whether a list has no option that is disabled, one choice where one may be; and a box a value."""
    kind, _, value, is_multiple, _ = control
    if kind != "select":
        return kind != "checkbox" or bool(value)
    return not any(off for *_, off in value) and (is_multiple or sum(chosen for _, chosen, _ in value) < 2)


@pytest.mark.parametrize("value", [b"abc", {"a": 1}, [["a"]], ["a", True], object()])
def test_what_no_form_can_hold_is_not_sent_as_something_else(value):
    with pytest.raises(UsageError, match=r"form\['q'\] is a "):
        page("<form><input name=q></form>").form({"q": value})
    with pytest.raises(UsageError, match="a dict of values by name, not a str"):
        page("<form><input name=q></form>").form("q=1")


def test_prices_and_several_values_are_sent_as_they_are():
    filled = page("<form method=post><input name=q></form>").form({"q": [Decimal("1.50"), None, 2]})
    assert sent(filled) == [("q", "1.50"), ("q", "2")]
    assert sent(Request(URL, form={"q": Decimal("1.50")})) == [("q", "1.50")]


def test_a_page_has_no_say_in_who_sends_its_form():
    form = page("<form method=post action='https://me:s3cret@club.example/x'><input name=q></form>")
    with pytest.raises(ValueError, match="has a user or a password in it") as refused:
        form.form()
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize(
    ("charset", "text", "sent_as"), [("windows-874", "ไทย", "%E4%B7%C2"), ("Shift_JIS", "①", "%87%40")]
)
def test_a_form_is_sent_in_charsets_that_python_lacks(charset, text, sent_as):
    html = f"<meta charset={charset}><form method=POST><input name=q><input type=hidden name=_charset_>"
    request = page(html.encode(), content_type="text/html").form({"q": text})
    assert request.body.decode() == f"q={sent_as}&_charset_={charset}"
