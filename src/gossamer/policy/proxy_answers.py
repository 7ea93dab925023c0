"""Whose an error is that came through a proxy: its host's, or the proxy's own. Pure, and of one worker.

A proxy that fetches plain HTTP for us can answer errors of its own that look like the host's, and a host may
answer an error to one proxy alone. So the page is asked for through another proxy before its host is blamed,
and a proxy whose answers are errors where those of others are not is left alone for a time.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import TypeVar

from gossamer.policy.proxies import ProxyOutcome, judge_silence

MOST_OTHERS = 2
"""Number of other proxies that try a page with an error before its host is blamed."""
MOST_IN_A_ROW = 5
"""Number of errors of a host in a row, through any proxies, after which the host is blamed."""
MOST_UNPROVEN = 10
"""Number of proxies that have only ever given errors which try before a host is blamed.

Most of a list may be such. Proxies are counted because concurrent pages meet the same ones.
"""
MAX_KEPT = 10_000
"""URLs, and hosts, of which errors are remembered."""
PROVIDERS_FIELDS = (
    *("x-brd-err-code", "x-brd-error-code", "x-brd-error", "x-luminati-error", "x-luminati-error-code"),
    *("x-error-description", "x-soax-error", "x-webshare-reason", "x-webshare-error", "x-crawlera-error"),
    *("zyte-error", "zyte-error-type", "x-proxy-error"),
)
"""Header fields in which Bright Data, Oxylabs, SOAX, Webshare, Zyte and others name errors of theirs."""

_Value = TypeVar("_Value")


def is_error(status: int, fields: Iterable[str]) -> bool:
    """Whether an answer may be the proxy's own error. ``fields``: its header's names, in lower case."""
    return status >= 500 or is_signed(status, fields)


def is_signed(status: int, fields: Iterable[str]) -> bool:
    """Whether a provider of proxies says by a header field that the error is of its making."""
    return status >= 400 and not set(PROVIDERS_FIELDS).isdisjoint(fields)


class ErrorJudge:
    """Compares what hosts answer through different proxies, which are known by their names.

    An error is *doubted*, and its page is tried through another proxy, while there are others that were not
    asked for it. A proxy has a *mark* for each doubted error that nothing but errors came after: at once if
    it never gave another answer or the error is signed, else when the host has answered others, and then one
    for all errors before that answer: the host may have been out of order.
    """

    def __init__(self) -> None:
        self._proven: set[str] = set()  # proxies through which something else than an error came
        self._marks: dict[str, list[str]] = {}  # by proxy: hosts
        self._rows: OrderedDict[str, list[str]] = OrderedDict()  # by host: proxies, since its last answer
        self._asked: OrderedDict[str, tuple[str, ...]] = OrderedDict()  # by URL: proxies that gave an error

    def __repr__(self) -> str:
        return f"<ErrorJudge: {len(self._proven)} proven, {len(self._marks)} marked>"

    def keep_proxies(self, names: Iterable[str]) -> None:
        """Forget all proxies but these."""
        kept = set(names)
        self._proven &= kept
        self._marks = {name: hosts for name, hosts in self._marks.items() if name in kept}

    def is_proven(self, proxy: str) -> bool:
        """Whether something else than an error came through a proxy."""
        return proxy in self._proven

    def note_answer(self, proxy: str, host: str, url: str) -> None:
        """Note that a host has answered through a proxy without an error."""
        self._proven.add(proxy)
        self._marks.pop(proxy, None)
        self._asked.pop(url, None)
        for name in dict.fromkeys(self._rows.pop(host, ())):  # an outage of the host is one mark
            if name != proxy and name in self._proven:
                self._marks.setdefault(name, []).append(host)

    def doubt_error(self, proxy: str, host: str, url: str, *, others: int, is_signed: bool = False) -> bool:
        """Whether an error may be the proxy's own, so that its page is tried through another one.

        ``others`` is how many other proxies may be asked now.
        """
        former, row, is_proven = self._asked.get(url, ()), self._rows.get(host, []), proxy in self._proven
        if is_proven:
            is_doubted = proxy not in former and len(former) < min(MOST_OTHERS, others)
            is_doubted &= is_signed or len(row) < MOST_IN_A_ROW
        else:  # a session may be bound to it: then it is asked again, until it rests
            is_doubted = others > 0 and len(former) < MOST_UNPROVEN
            is_doubted &= is_signed or len(set(row)) < MOST_UNPROVEN
        _keep_latest(self._asked, url, former if proxy in former else (*former, proxy)[:MOST_UNPROVEN])
        _keep_latest(self._rows, host, [*row, proxy][-MOST_UNPROVEN:])
        if is_doubted and (is_signed or not is_proven):
            self._marks.setdefault(proxy, []).append(host)
        return is_doubted

    def judge_proxy(self, proxy: str, host: str) -> ProxyOutcome:
        """Judge the proxy of the last doubtful error at ``host`` by the errors before it."""
        marks = self._marks.get(proxy, ())
        judged = judge_silence(marks)
        if judged is ProxyOutcome.SILENT or (judged is ProxyOutcome.STALLED and host not in marks):
            return ProxyOutcome.DOUBTED
        del self._marks[proxy]
        return judged


def _keep_latest(kept: OrderedDict[str, _Value], key: str, value: _Value) -> None:
    kept[key] = value
    kept.move_to_end(key)
    if len(kept) > MAX_KEPT:
        kept.popitem(last=False)
