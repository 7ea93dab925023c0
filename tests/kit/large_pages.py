"""Pages of real size and ordinary shape, as indexes and references of programming languages have them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

WORDS = "what it does and when it does it, told at some length "
BUSY_S = 60


def _filled(row: str, size: int) -> str:
    """A row with a blank for its text, filled to a size."""
    space = max(0, size - len(row) + 2)
    return row % (WORDS * (space // len(WORDS) + 1))[:space]


def index_page(links: int = 30_000, size: int = 6_000_000) -> str:
    """An index: a table with a link in each of its rows."""
    row = (
        '<tr><td class="k"><b>{n}</b><td><a href="/doc/page{n}.html"><code>entry<wbr>{n}</code></a>'
        "<td><i>%s</i><br><span>since <em>1.{n}</em></span></tr>\n"
    )
    rows = "".join(_filled(row.format(n=n), size // links) for n in range(links))
    return f"<!doctype html><html><head><title>Index</title></head><body><table>{rows}</table></body></html>"


def reference_page(methods: int = 7_000, size: int = 6_000_000) -> str:
    """The page of one large class: four links for each of its methods."""
    rows = (
        _filled(
            f'<section class="detail" id="m{n}"><h3>method{n}</h3><div class="member-signature"><span>public'
            f'</span>&nbsp;<span><a href="T{n}.html">T</a></span>&nbsp;<wbr><span>(<a href="C{n}.html">C</a>'
            f'&nbsp;c)</span></div><dl class="notes"><dt>Returns:</dt><dd>the <code><a href="R{n}.html">x</a>'
            f'</code></dd><dt>Since:</dt><dd><a href="S{n}.html">1.5</a></dd></dl><p>%s</section>\n',
            size // methods,
        )
        for n in range(methods)
    )
    return (
        "<!DOCTYPE HTML><html lang=en><head><title>Class</title></head><body><main><div class=block>"
        f"{''.join(rows)}</div></main></body></html>"
    )


@contextmanager
def busy_machine(loops: int = 2) -> Iterator[None]:
    """Load every core with other programs; they end by themselves in any case."""
    code = f"import time; end = time.monotonic() + {BUSY_S}\nwhile time.monotonic() < end: pass"
    others = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(loops)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()
