"""Charset sniffing: the html5lib cases, header against mark against document, and no exceptions."""

from __future__ import annotations

import gzip
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.parse.charset_codecs import codec_for
from gossamer.parse.encoding import decode_body, encoding_named, encoding_of, guess_encoding
from gossamer.parse.html import HtmlPage
from gossamer.parse.isolation.frames import ExamineTask
from gossamer.parse.isolation.worker import examine_body
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
    assert HtmlPage(body, "http://h/").encoding == encoding


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
        data for data, expected in cases if HtmlPage(data, "http://h/").encoding.lower() != expected
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
    page = HtmlPage(body, "http://h/", content_type)
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
    text, encoding = decode_body(body, content_type, "http://h/")
    page = HtmlPage(body, "http://h/", content_type)
    assert page.encoding == encoding
    assert page.text == text
    assert not text.startswith("\ufeff") or body.count(b"\xef\xbb\xbf") > 1 or encoding != "UTF-8"


# --------------------------------------------------------------------------- pages that name no charset

LETTERS = {
    "ru": "Добро пожаловать на наш сайт. Здесь вы найдёте расписание поездов и цены на билеты.",
    "zh": "欢迎访问我们的网站。在这里您可以找到火车时刻表和票价,以及有关车站的信息。",
    "tw": "歡迎光臨我們的網站。在這裡您可以找到火車時刻表和票價,以及有關車站的資訊。",
    "ja": "ようこそ。このサイトでは列車の時刻表と切符の値段、駅についての案内をご覧になれます。",
    "ko": "저희 웹사이트에 오신 것을 환영합니다. 여기에서 열차 시간표와 요금을 볼 수 있습니다.",
    "el": "Καλώς ήρθατε στον ιστότοπό μας. Εδώ θα βρείτε τα δρομολόγια των τρένων και τις τιμές.",
    "he": "ברוכים הבאים לאתר שלנו. כאן תמצאו את לוח הזמנים של הרכבות ואת מחירי הכרטיסים.",
    "ar": "مرحبا بكم في موقعنا. ستجدون هنا مواعيد القطارات وأسعار التذاكر ومعلومات عن المحطات.",
    "th": "ยินดีต้อนรับสู่เว็บไซต์ของเรา ที่นี่คุณจะพบตารางเวลารถไฟและราคาตั๋ว",
    "tr": "Hoş geldiniz. Şehirler, değişik ücretler ve güzergahlar için doğru yerdesiniz: İstanbul, Muğla.",
    "pl": "Witamy. Znajdą tu Państwo rozkład jazdy pociągów, ceny biletów i więcej: żółć, źdźbło.",
    "de": "Willkommen auf unserer Seite. Hier finden Sie Fahrpläne, Preise für Züge und größere Bahnhöfe.",
    "fr": "Bienvenue. Vous y trouverez les horaires des trains, les prix élevés à côté, déjà reçus.",
    "es": "Bienvenido a nuestra página. Aquí encontrará los horarios, el año y el número de cada estación.",
    "en": "The \u201cfinest\u201d page \u2014 you\u2019ll find times, prices \u2026 and stations here.",
}
"""A sentence of a page in each language."""
GUESSED = [
    ("ru", "windows-1251", ""),
    ("ru", "KOI8-R", ""),
    ("ru", "IBM866", ""),
    ("zh", "GBK", ""),
    ("tw", "Big5", ""),
    ("ja", "Shift_JIS", ""),
    ("ja", "EUC-JP", ""),
    ("ja", "ISO-2022-JP", ""),
    ("ko", "EUC-KR", ""),
    ("el", "windows-1253", ""),
    ("he", "windows-1255", ""),
    ("ar", "windows-1256", ""),
    ("th", "windows-874", ""),
    ("tr", "windows-1254", "tr"),
    ("pl", "ISO-8859-2", "pl"),
    ("pl", "windows-1250", "pl"),
    ("de", "windows-1252", "de"),
    ("de", "windows-1252", ""),
    ("fr", "windows-1252", "com"),
    ("es", "windows-1252", "es"),
    ("en", "windows-1252", "uk"),
]


@pytest.mark.parametrize(("language", "encoding", "tld"), GUESSED)
def test_the_charset_of_a_page_that_names_none_is_guessed(language: str, encoding: str, tld: str) -> None:
    text = f"<title>x</title><p>{LETTERS[language]}"
    body = text.encode(codec_for(encoding))
    url = f"http://h.{tld}/" if tld else "http://127.0.0.1:8000/"
    page = HtmlPage(body, url, "text/html")
    assert page.document.select_one("p").text == LETTERS[language]
    assert page.text == text
    assert decode_body(body, "text/html", url) == (text, page.encoding)
    # Two charsets that have the same letters in the same places are one to a reader.
    assert page.encoding == encoding or body.decode(f"whatwg-{page.encoding}") == text


@pytest.mark.parametrize(
    "text",
    [
        "Price: \xa35.00",
        "<title>Flights from \xa329</title><footer>\xa9 2024 Fly</footer>",
        "\xbd cup, \xbc tsp, 180\xb0C",
        "Jos\xe9, \xa33",
        "Today\u2019s \u201cbest\u201d price is \xa320",
        "Terms \xa7 12 \xb6 3",
        "30\xd740 cm, \xb12 cm",
    ],
)
@pytest.mark.parametrize("url", ["http://h.com/", "http://h.co.uk/", "http://127.0.0.1/"])
def test_signs_of_english_pages_are_no_letters_of_other_languages(text: str, url: str) -> None:
    assert guess_encoding(text.encode("cp1252"), url) == "windows-1252"


@pytest.mark.parametrize("slip", [b"\xff", b"\xe9", b"\xe2\x80", b"\xc3"])
@pytest.mark.parametrize("language", ["ru", "ja", "de"])
def test_utf8_with_a_slip_is_utf8(slip: bytes, language: str) -> None:
    text = f"<p>{LETTERS[language]}</p>".encode() * 10
    body = text + slip + text
    assert guess_encoding(body, "http://h.com/") == HtmlPage(body, "http://h.com/").encoding == "UTF-8"
    legacy = LETTERS["de"].encode("cp1252")
    assert guess_encoding(legacy + b"<p>\xc3\xbc</p>" + legacy, "http://h.de/") == "windows-1252"


def test_a_guess_can_be_turned_off() -> None:
    body = LETTERS["ru"].encode("cp1251")
    page = HtmlPage(body, "http://h.ru/", guesses=False)
    assert page.encoding == encoding_of(body) == "windows-1252"
    assert page.document.encoding == "windows-1252"


@pytest.mark.parametrize("rest", [b"", b"<p>" + b"x" * 200_000])
def test_a_page_that_names_its_charset_is_believed(rest: bytes) -> None:
    body = LETTERS["ru"].encode("cp1251")
    assert HtmlPage(body, "http://h.ru/", "text/html; charset=koi8-r").encoding == "KOI8-R"
    assert HtmlPage(b"<meta charset=koi8-r>" + body, "http://h.ru/").encoding == "KOI8-R"
    assert HtmlPage(body + b" " * 2000 + rest + b"<meta charset=koi8-r>", "http://h.ru/").encoding == "KOI8-R"


def test_letters_are_found_however_late_they_come() -> None:
    body = b"<p>plain words</p>" * 10_000 + LETTERS["ja"].encode("shift_jis")
    assert HtmlPage(body, "http://h/").encoding == "Shift_JIS"


@pytest.mark.parametrize(("guesses", "encoding"), [(True, "windows-1251"), (False, "windows-1252")])
def test_a_page_that_is_examined_elsewhere_is_guessed_there(guesses: bool, encoding: str) -> None:
    task = ExamineTask(cpu_s=1, content_type="", max_depth=256, max_tags=400_000, guesses_charset=guesses)
    assert examine_body(task, LETTERS["ru"].encode("cp1251"))[0].encoding == encoding


META = re.compile(rb"<meta[^>]*charset[^>]*>", re.IGNORECASE)


@pytest.mark.long
@from_corpus("pages", cases=59)
def test_western_pages_are_seldom_taken_for_others() -> None:
    """Pages of the web without what they say of their charset: 1 of 59 is guessed wrong."""
    pages = []
    for path in sorted(corpus("pages").glob("*.gz")):
        text = META.sub(b"", gzip.decompress(path.read_bytes())).decode("utf-8", "replace")
        body = text.encode(codec_for("windows-1252"), "xmlcharrefreplace")[:100_000]
        if not body.isascii():
            pages.append(guess_encoding(body, "http://h.com/"))
    assert len(pages) >= 50
    assert len([encoding for encoding in pages if encoding != "windows-1252"]) <= 1
