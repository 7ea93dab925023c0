"""What the README and the pages say is what happens."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

from gossamer.words.lifecycle import TABLE
from programs import environment, free_port

ROOT = Path(__file__).parents[2]
PORT = free_port()
README = (ROOT / "README.md").read_text().replace("8085", PORT)  # the port of the README may be taken


def code(mark: str) -> str:
    """The code block after a mark."""
    found = re.search(rf"<!-- {re.escape(mark)} -->\n```\w+\n(.*?)```", README, re.DOTALL)
    assert found is not None, mark
    return found[1]


def command(mark: str) -> tuple[list[str], list[str]]:
    """The words of a console block's command, and what it is said to print."""
    first, *output = code(mark).splitlines()
    return shlex.split(first.removeprefix("$ ").removesuffix(" &")), output


def here(words: list[str]) -> list[str]:
    """The command with this interpreter's programs."""
    programs = {"python": [sys.executable], "gossamer": [sys.executable, "-m", "gossamer.cli.main"]}
    return [*programs.get(words[0], [words[0]]), *words[1:]]


def facts(lines: list[str]) -> dict[str, str]:
    """Lines of ``label   value``, without what differs from run to run."""
    found = dict(re.split(r"\s{2,}", line, maxsplit=1) for line in lines if re.search(r"\w\s{2,}\S", line))
    return {label: re.sub(r"[\d.]+ (ms|s)\b|[\d.,]+/s|/\S+", "~", value) for label, value in found.items()}


def test_the_spider_and_its_output(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(code("file: shop.py"))
    serve, _ = command("run: background")
    crawl, printed = command("run: crawl")
    head, rows = command("run: head")
    server = subprocess.Popen(here(serve), stdout=subprocess.PIPE, text=True, env=environment())
    try:
        assert server.stdout is not None
        assert server.stdout.readline().startswith(f"http://127.0.0.1:{PORT}")
        done = subprocess.run(
            here(crawl),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            env=environment(),
            timeout=60,
            check=True,
        )
    finally:
        server.terminate()
        server.communicate(timeout=10)
    said = facts([line for line in done.stderr.splitlines() if not re.match(r"\d{4}-", line)])
    assert said == facts(printed)
    assert subprocess.check_output(head, cwd=tmp_path, text=True).splitlines() == rows


def test_the_life_cycle_on_the_page_is_the_table() -> None:
    page = (ROOT / "docs/explanation/architecture.md").read_text()
    found = re.search(r"<!-- lifecycle -->(.*?)<!-- /lifecycle -->", page, re.DOTALL)
    assert found is not None
    rows = [
        tuple(cell.strip() for cell in line.strip("| ").split("|")) for line in found[1].strip().splitlines()
    ]
    assert rows[2:] == [
        (state.value if state else "(new)", move.value, to.value) for (state, move), to in TABLE.items()
    ]


def test_links_lead_somewhere() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    for page in pages:
        for target in re.findall(r"\]\((?!https?://|#)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
