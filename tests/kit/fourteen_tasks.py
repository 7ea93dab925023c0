"""The fourteen tasks of the guides, beside the programs that do the same with Scrapy, and the lines of both.

The guides mark the blocks that do a task with ``<!-- task: N -->``. Scrapy's programs, and the commands that
run them, are in ``tests/docs/scrapy_tasks``.
"""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from kit.environment import environment
from kit.page_runner import Block, blocks, commands

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGE = DOCS / "how-to/fourteen-tasks.md"
PROGRAMS = ROOT / "tests/docs/scrapy_tasks"
OFFLINE = ROOT / "tests/kit/side_by_side/environment"
"""The folder of ``PYTHONPATH`` that keeps Scrapy from downloading lists of domains."""
HEAD = ("task", "how to", "Gossamer", "Scrapy")


@dataclass(frozen=True)
class Task:
    """One task: where it is done, and the files in which Scrapy's users do it."""

    number: int
    title: str
    place: str  # a page, from the folder of the guides on, with the section
    scrapy: tuple[str, ...]
    source: Path | None = None  # the page that has the code, if it is none of the website's

    @property
    def page(self) -> str:
        """The text of the page that the task leads to."""
        return (PAGE.parent / self.place.partition("#")[0]).read_text()

    @property
    def blocks(self) -> list[Block]:
        """The blocks of the guide that do the task."""
        text = self.source.read_text() if self.source else self.page
        return [block for block in blocks(text) if block.marks.get("task") == str(self.number)]

    def own_lines(self) -> int:
        """How many lines the guide's reader writes and types."""
        return sum(map(_count_block, self.blocks))

    def scrapy_lines(self) -> int:
        """How many lines a user of Scrapy writes and types."""
        return sum(count_lines((PROGRAMS / name).read_text()) for name in self.scrapy)

    def write_files(self, folder: Path, port: str) -> None:
        """Write the files of both sides, each in a folder of its own, for a site at a port."""
        for block in self.blocks:
            if "file" in block.marks:
                _write_file(folder / "own" / block.marks["file"], block.text, port)
        for name in self.scrapy:
            _write_file(folder / "scrapy" / name, (PROGRAMS / name).read_text(), port)

    def own_commands(self) -> list[str]:
        """The commands of the guide."""
        consoles = [block.text for block in self.blocks if block.kind == "console"]
        return [command for text in consoles for command, _ in commands(text)]

    def scrapy_commands(self) -> list[str]:
        """The commands of Scrapy's users."""
        files = [name for name in self.scrapy if name.endswith(".txt")]
        return [line for name in files for line in (PROGRAMS / name).read_text().splitlines()]


TASKS = (
    Task(
        1,
        "Crawl without a spider",
        "crawl-a-site.md",
        ("without_a_spider.py", "without_a_spider.txt"),
    ),
    Task(
        2,
        "The spider of the README",
        "../tutorial/first-crawl.md#the-spider",
        ("readme_spider.py", "readme_spider.txt"),
        ROOT / "README.md",
    ),
    Task(3, "Log in through a form with a CSRF field", "log-in.md", ("log_in.py", "log_in.txt")),
    Task(
        4,
        "A JSON API with pages by POST",
        "requests.md#a-json-api-page-by-page",
        ("json_api.py", "json_api.txt"),
    ),
    Task(5, "Files and pictures of items", "files.md", ("files_and_images.py", "files_and_images.txt")),
    Task(
        6,
        "A pipeline that completes items",
        "clean-items.md#complete-items",
        ("enriching_pipeline.py", "enriching_pipeline.txt"),
    ),
    Task(
        7,
        "Signed requests, and credentials of each domain",
        "hooks.md#sign-every-request",
        ("signed_requests.py", "signed_requests.txt"),
    ),
    Task(
        8,
        "Settings of one spider",
        "write-a-spider.md#settings-of-one-spider",
        ("spider_settings.py", "spider_settings.txt"),
    ),
    Task(
        9,
        "CSV with the fields in order, in two files",
        "export.md#two-files-each-with-its-fields-in-order",
        ("two_files.py", "two_files.txt"),
    ),
    Task(
        10,
        "Fetch again what failed, after a fix",
        "dead-letters.md",
        ("dead_letters.py", "dead_letters.txt"),
    ),
    Task(
        11,
        "Inside FastAPI and Jupyter",
        "use-as-a-library.md#inside-fastapi",
        ("app.py", "notebook.py"),
    ),
    Task(12, "Try selectors and an API in the shell", "shell.md", ("shell.txt",)),
    Task(13, "Unit tests of a spider", "test-a-spider.md", ("spider_tests.py", "spider_tests.txt")),
    Task(
        14,
        "Crawl changed pages every hour",
        "schedules.md#crawl-changed-pages-every-hour",
        ("recrawl.py", "recrawl.txt"),
    ),
)


def count_lines(text: str) -> int:
    """Lines that are neither blank nor only a comment."""
    return sum(1 for line in text.splitlines() if line.strip() and not line.strip().startswith("#"))


def _count_block(block: Block) -> int:
    if block.kind != "console":
        return count_lines(block.text)
    typed = re.findall(r"^\$ (?:.*\\\n)*.*", block.text, re.MULTILINE)
    return sum(map(count_lines, typed))


def tasks_table() -> str:
    """The tasks as their page shows them."""
    rows = [f"| {' | '.join(HEAD)} |", "|---|---|---|---|"]
    for task in TASKS:
        title = re.findall(r"^# (.+)$", task.page, re.MULTILINE)[0]
        link = f"[{title}]({task.place})"
        rows.append(f"| {task.title} | {link} | {task.own_lines()} | {task.scrapy_lines()} |")
    return "\n".join(rows)


def run_commands(given: list[str], folder: Path) -> None:
    """Type commands in a folder, one after the other, in one shell; each of them has to succeed."""
    done = subprocess.run(
        ["bash", "-ec", "\n".join(given)],
        cwd=folder,
        env=environment(PYTHONPATH=f"{OFFLINE}:{folder}")
        | {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "HOME": str(folder)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, "\n".join(given) + done.stdout + done.stderr


def _write_file(path: Path, text: str, port: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.replace("8085", port))
