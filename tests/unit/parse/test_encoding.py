"""Charset sniffing: the html5lib cases, header against mark against document, and no exceptions."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.parse.encoding import decode_body, encoding_named, encoding_of
from gossamer.parse.html import parse_html
from kit.corpora import corpus, from_corpus

KOI, GBK, NOBODY = "KOI8-R", "GBK", "windows-1252"
DECLARATIONS = [
    (b"<meta charset=koi8-r>", KOI),
    (b"<META CHARSET='KOI8-R'>", KOI),
    (b'<meta charset=" koi8-r ">', KOI),
    (b"<meta\tcharset\n=\r\nkoi8-r\f>", KOI),
    (b"<meta/charset=koi8-r />", KOI),
    (b"<meta/charset=koi8-r/>", NOBODY),
    (b"<meta name=x content=y charset=koi8-r>", KOI),
    (b"<meta charset=koi8-r charset=gbk>", KOI),
    (b"<meta charset=nonsense><meta charset=koi8-r>", KOI),
    (b"<meta charset><meta charset=koi8-r>", KOI),
    (b"<metacharset=koi8-r>", NOBODY),
    (b"<met charset=koi8-r>", NOBODY),
    (b"</meta charset=koi8-r>", NOBODY),
    (b"<meta charset=utf-16le>", "UTF-8"),
    (b"<meta charset=x-user-defined>", NOBODY),
    (b"<meta charset=cp1251>", "windows-1251"),
    (b"<meta charset=gb2312>", GBK),
    (b"<meta charset=ks_c_5601-1987>", "EUC-KR"),
    (b"<meta charset=x-sjis>", "Shift_JIS"),
    (b'<meta http-equiv=Content-Type content="text/html; charset=koi8-r">', KOI),
    (b'<meta content="text/html; charset=koi8-r" http-equiv="content-type">', KOI),
    (b"<meta http-equiv=content-type content='charset = \"koi8-r\"'>", KOI),
    (b"<meta http-equiv=content-type content='xcharset charset=koi8-r;gbk'>", KOI),
    (b"<meta http-equiv=content-type content='charset=\"koi8-r'>", NOBODY),
    (b"<meta http-equiv=content-type content='text/html; charset'>", NOBODY),
    (b"<meta http-equiv=content-type content='charset=gbk' charset=koi8-r>", KOI),
    (b"<meta content='text/html; charset=koi8-r'>", NOBODY),
    (b"<meta http-equiv=refresh content='text/html; charset=koi8-r'>", NOBODY),
    (b"<!-- <meta charset=gbk> --><meta charset=koi8-r>", KOI),
    (b"<!--><meta charset=koi8-r>-->", KOI),
    (b"<!-- <meta charset=koi8-r>", NOBODY),
    (b"<!doctype html><html lang=ru><head><title>x</title><meta charset=koi8-r>", KOI),
    (b'<p title="<meta charset=gbk>"><meta charset=koi8-r>', KOI),
    (b"<p title='<meta charset=gbk>'>", NOBODY),
    (b"<?x <meta charset=gbk>?><meta charset=koi8-r>", KOI),
    (b"</p <meta charset=gbk>><meta charset=koi8-r>", KOI),
    (b" " * 900 + b"<meta charset=koi8-r>", KOI),
    (b"<meta charset=koi8-r", NOBODY),
    (b"plain words", NOBODY),
    (b"\xef\xbb\xbf<meta charset=koi8-r>", "UTF-8"),
]
"""What a document says of itself, by the HTML standard's algorithm (13.2.3.2)."""


@pytest.mark.parametrize(("body", "encoding"), DECLARATIONS)
def test_what_a_document_declares(body: bytes, encoding: str) -> None:
    assert encoding_of(body) == encoding
    assert parse_html(body, "http://h/").encoding == encoding


def sniffing_cases() -> list[tuple[bytes, str]]:
    raw = corpus("encoding/tests1.dat").read_bytes()
    cases = []
    for case in re.split(rb"(?:^|\n)#data\n", raw)[1:]:
        data, _, name = case.partition(b"\n#encoding\n")
        cases.append((data, name.split(b"\n")[0].decode().strip().lower()))
    return cases


@from_corpus("encoding/tests1.dat", cases=59)
def test_all_sniffing_cases():
    cases = sniffing_cases()
    assert len(cases) == 59
    wrong = [(data[:60], expected) for data, expected in cases if encoding_of(data).lower() != expected]
    assert wrong == []
    assert [
        data for data, expected in cases if parse_html(data, "http://h/").encoding.lower() != expected
    ] == []


@pytest.mark.parametrize(
    ("body", "content_type", "encoding", "text"),
    [
        (b"caf\xe9", "text/html; charset=ISO-8859-1", "windows-1252", "café"),
        (b"caf\xc3\xa9", 'text/html; Charset="utf8"', "UTF-8", "café"),
        (b"\xd0", "text/html;charset=koi8-r;x=y", "KOI8-R", "п"),
        (b"\xef\xbb\xbfx", "text/html; charset=latin1", "UTF-8", "x"),  # the mark beats the header
        (b"\xff\xfeh\0i\0", "", "UTF-16LE", "hi"),
        (b"\xfe\xff\0h\0i", "text/html; charset=utf-8", "UTF-16BE", "hi"),
        (b"<meta charset=koi8-r>\xd0", "text/html; charset=utf-8", "UTF-8", "<meta charset=koi8-r>\ufffd"),
        (b"<meta charset=koi8-r>\xd0", "text/html; charset=nonsense", "KOI8-R", "<meta charset=koi8-r>п"),
        (b"<meta charset=utf-16>\xc3\xa9", "", "UTF-8", "<meta charset=utf-16>é"),
        (b"caf\xc3\xa9", "", "UTF-8", "café"),  # nobody says anything: valid UTF-8
        (b"caf\xe9 \x80", "", "windows-1252", "café €"),
        (b"", "", "windows-1252", ""),
        (
            b"<?xml version='1.0' encoding='koi8-r'?>\xd0",
            "",
            "KOI8-R",
            "<?xml version='1.0' encoding='koi8-r'?>п",
        ),
        (
            b'<?xml version="1.0" encoding="utf-16"?>\xc3\xa9',
            "",
            "UTF-8",
            '<?xml version="1.0" encoding="utf-16"?>é',
        ),
        (b"+ADw-script+AD4-", "text/html; charset=utf-7", "windows-1252", "+ADw-script+AD4-"),
        (b"<meta charset=utf-7>+ADw-", "", "windows-1252", "<meta charset=utf-7>+ADw-"),
        (b"\x1b$)C", "text/html; charset=iso-2022-kr", "replacement", "\ufffd"),
        (b"\x82\xa0", "text/html; charset=shift-jis", "Shift_JIS", "あ"),
        (b"x" * 2000 + b"<meta charset=koi8-r>\xd0", "", "KOI8-R", "x" * 2000 + "<meta charset=koi8-r>п"),
        (b"a\x00b\xff", "text/plain; charset=utf-8", "UTF-8", "a\x00b\ufffd"),
    ],
)
def test_who_decides(body, content_type, encoding, text):
    assert decode_body(body, content_type) == (text, encoding)
    page = parse_html(body, "http://h/", content_type)
    assert (page.text, page.encoding) == (text, encoding)


def test_labels():
    assert encoding_named("Latin1 ") == "windows-1252"
    assert encoding_named("x-sjis") == "Shift_JIS"
    for label in ("utf-7", "utf-32", "idna", "rot13", "hex", "", "\ud800", "a\0b", "x" * 10_000):
        assert encoding_named(label) is None


@given(
    st.binary(max_size=300),
    st.sampled_from(["", "text/html; charset=", "text/html; charset=big5", "charset=\t'"]),
)
def test_nothing_raises_and_page_agrees(body, content_type):
    text, encoding = decode_body(body, content_type)
    page = parse_html(body, "http://h/", content_type)
    assert page.encoding == encoding
    assert page.text == text
    assert not text.startswith("\ufeff") or body.count(b"\xef\xbb\xbf") > 1 or encoding != "UTF-8"
