"""Verdicts of robots.txt: files made from groups and rules, and a second, literal reading of RFC 9309."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.policy.robots import RobotsAccess, RobotsRules, interpret_response

AGENTS = ("gossamer", "gossamer-news", "otherbot", "goss", "*")
SITE = "https://site.example"


@dataclass(frozen=True)
class Group:
    """Names, and what they may and may not fetch: pairs of allow and a pattern."""

    names: tuple[str, ...]
    rules: tuple[tuple[bool, str], ...]


def matches(pattern: str, path: str) -> bool:
    """RFC 9309, 2.2.2 and 2.2.3: a prefix; ``*`` is anything, ``$`` the end."""
    if pattern in ("", "$"):
        return path == "" or pattern == ""
    if pattern[0] == "*":
        return any(matches(pattern[1:], path[start:]) for start in range(len(path) + 1))
    return path[:1] == pattern[0] and matches(pattern[1:], path[1:])


def verdict(groups: tuple[Group, ...], agent: str, path: str) -> bool:
    """RFC 9309, 2.2.1 and 2.2.2: all groups of the name, else of ``*``; the longest match, allow in a tie."""
    if path == "/robots.txt":
        return True
    own = [group for group in groups if agent in group.names]
    for_all = [group for group in groups if "*" in group.names]
    found = [
        (len(pattern), allow)
        for group in own or for_all
        for allow, pattern in group.rules
        if pattern and matches(pattern, path)
    ]
    return max(found)[1] if found else True


patterns = st.one_of(
    st.builds("/{}{}".format, st.text("ab/*", max_size=5), st.sampled_from(["", "", "$"])),
    st.sampled_from(["/", "/*", "/*.php", "/a/b.php$", "*", "*b", ""]),
)
groups = st.builds(
    Group,
    names=st.lists(st.sampled_from(AGENTS), min_size=1, max_size=3, unique=True).map(tuple),
    rules=st.lists(st.tuples(st.booleans(), patterns), min_size=1, max_size=5).map(tuple),
)
paths = st.one_of(
    st.text("ab/", max_size=6).map("/{}".format),
    st.sampled_from(["/a/b.php", "/a/b.php?x", "/robots.txt", "/a?b", "/"]),
)


@st.composite
def files(draw) -> tuple[tuple[Group, ...], bytes]:
    """Groups, and a file that says them in one of the ways in which such files are written."""
    made = tuple(draw(st.lists(groups, max_size=4)))
    end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    lines: list[str] = []

    def say(field: str, value: str) -> None:
        spelt = draw(st.sampled_from([field, field.lower(), field.upper()]))
        lines.append(
            draw(st.sampled_from(["", "  ", "\t"]))
            + spelt
            + draw(st.sampled_from([":", ": ", " : "]))
            + value
            + draw(st.sampled_from(["", " ", " # a comment: /b"]))
        )
        noise = draw(st.sampled_from(["", "", "#", "# Disallow: /", "Sitemap: /map.xml", "\t", "Noindex: /"]))
        lines.extend([noise] * bool(noise))

    for group in made:
        for name in group.names:
            say("User-agent", draw(st.sampled_from([name, name.upper(), name.title()])))
        for allow, pattern in group.rules:
            say("Allow" if allow else "Disallow", pattern)
    text = end.join(lines) + draw(st.sampled_from(["", end]))
    mark = draw(st.sampled_from([b"", b"\xef\xbb\xbf"]))
    return made, mark + text.encode()


@pytest.mark.slow
@settings(max_examples=60)
@given(files(), st.sampled_from(AGENTS[:-1]), st.lists(paths, min_size=1, max_size=5))
def test_every_verdict_is_the_one_of_the_standard(made: object, agent: str, asked: list[str]) -> None:
    known, body = made
    rules = RobotsRules(interpret_response(200, body, "text/plain"))
    for path in asked:
        assert rules.may_fetch(SITE + path, agent) is verdict(known, agent, path), (body, path)


@pytest.mark.parametrize(
    ("pattern", "path", "is_match"),
    [
        ("/fish", "/fish.html", True),
        ("/fish", "/Fish", False),
        ("/fish*", "/fishheads/yummy.html", True),
        ("/fish/", "/fish", False),
        ("/fish/", "/fish/?id=1", True),
        ("/*.php", "/folder/any.php.file?x", True),
        ("/*.php$", "/folder/any.php", True),
        ("/*.php$", "/any.php?x", False),
        ("/fish*.php", "/fishheads/catfish.php?x", True),
        ("/a%3cd.html", "/a%3Cd.html", True),
        ("/caf%C3%A9", "/caf%c3%a9", True),
        ("/café", "/caf%C3%A9", True),
        ("/%7ejoe", "/~joe", True),
        ("/a/b$c", "/a/b$c", True),
    ],
)
def test_patterns(pattern: str, path: str, is_match: bool) -> None:
    rules = RobotsRules(
        interpret_response(200, f"User-agent: *\nDisallow: {pattern}\n".encode(), "text/plain")
    )
    assert rules.may_fetch(SITE + path, "gossamer") is not is_match


@pytest.mark.parametrize(
    "doctype", ["<!DOCTYPE html>", "\n\n<!doctype HTML PUBLIC '-//x'>", "<html>", "<?xml?>"]
)
def test_pages_that_are_served_as_robots_files_allow_all(doctype: str) -> None:
    page = f"{doctype}<head><title>Home</title></head><body><pre>Disallow: /</pre><p>Our agents</p>".encode()
    for content_type in ("text/html", "text/plain", ""):
        assert interpret_response(200, page, content_type).access is RobotsAccess.OPEN
