"""Runs a page of the documentation as a reader would: writes its files and types its commands, in order.

Comments before a block mark its kind:

- ``<!-- file: NAME -->``: the block is written to a file;
- ``<!-- replace: NAME, METHOD -->``: the block takes the place of a method in that file;
- a ``console`` block: each line that begins with ``$`` is run, and must print the lines below it.
  ``&`` at its end leaves it running, ``kill %1`` ends the first of these, and a line ``^C`` interrupts a
  command once the crawl has made some progress. Variables that a command exports hold for those after it;
- a ``python`` block that is not a file: it is run, ``await`` allowed;
- ``<!-- not run: WHY -->``: it is not run.

``<!-- roughly -->``: numbers are not compared. ``<!-- exit: N -->``: a command may end with N. A line ``...``
in an output stands for any lines. Times, durations, rates, versions and the log's lines are never compared.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from kit.environment import environment
from kit.programs import free_port, rows

BLOCK = re.compile(r"((?:<!-- [^\n]* -->\n)*)```(\w+)\n(.*?)```", re.DOTALL)
DRIVER = """
import ast, asyncio, inspect, sys
code = compile(sys.stdin.read(), "page", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
value = eval(code, {"__name__": "page"})
if inspect.iscoroutine(value):
    asyncio.run(value)
"""
VARYING = (
    (r"(?<![\d.])\d+\.\d+\.\d+(\.dev\d+)?(\+\w[\w.]*)?(?![\d.])", "VERSION"),
    (r"\b(\d{4}-)?\d\d-\d\d \d\d:\d\d(:\d\d)?", "TIME"),
    (r"\b(\d+[dhm] )?\d+[dhms]\b|[\d.,]+ ?(ms|s)\b", "SPAN"),
    (r"\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun)\b", "DAY"),
    (r"[\d.,]+/s\b", "RATE"),
    (r"\s+", " "),
)
NOUNS = re.compile(r"\b(request|item|page|link|wait)s?\b")
"""Words that are in the singular or the plural, as the number before them is."""
LOG = re.compile(r"\d{4}-\d\d-\d\dT")
PAGES_BEFORE_INTERRUPT = 12
PATIENCE_S = 60


@dataclass
class Block:
    """One block of code of a page."""

    kind: str
    text: str
    marks: dict[str, str] = field(default_factory=dict)

    @property
    def is_run(self) -> bool:
        """Whether anything is done with it."""
        return "not run" not in self.marks and ("file" in self.marks or self.kind in ("console", "python"))


def blocks(page: str) -> list[Block]:
    """The blocks of a page, in their order."""
    found = []
    for marks, kind, text in BLOCK.findall(page):
        named = (mark.partition(":") for mark in re.findall(r"<!-- (.*?) -->", marks))
        found.append(Block(kind, text, {name.strip(): value.strip() for name, _, value in named}))
    return found


def commands(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the commands of a console block, each with its expected output."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, *output = part.rstrip("\n").split("\n")
        while command.endswith("\\"):
            command = command[:-1] + output.pop(0)
        yield command, output


class PageRunner:
    """Runs the blocks of one page in a folder; servers that it started end with it."""

    def __init__(self, page: str, folder: Path, **variables: str) -> None:
        port = free_port()
        self._blocks = blocks(page.replace("8085", port))  # the port that pages name may be taken
        self._home, self._here = folder, folder
        self._servers: list[subprocess.Popen[str]] = []
        self._env = {
            **environment(),
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(folder),
            "COLUMNS": "120",
            **variables,
        }

    def run(self) -> int:
        """Run everything; how many blocks were run or written."""
        count = 0
        try:
            for block in self._blocks:
                count += self._run(block)
        finally:
            for server in self._servers:
                _end(server)
        return count

    def _run(self, block: Block) -> int:
        if not block.is_run:
            assert block.marks.get("not run", "-"), f"why is this not run?\n{block.text}"
            return 0
        if "file" in block.marks:
            path = self._here / block.marks["file"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text)
        elif "replace" in block.marks:
            self._replace(*block.marks["replace"].split(", "), block.text)
        elif block.kind == "console":
            for command, output in commands(block.text):
                self._type(command, output, block.marks)
        else:
            done = subprocess.run(
                [sys.executable, "-c", DRIVER],
                input=block.text,
                cwd=self._here,
                env={**self._env, "PYTHONPATH": str(self._here)},
                capture_output=True,
                text=True,
                timeout=PATIENCE_S,
                check=False,
            )
            assert done.returncode == 0, f"{block.text}\n{done.stderr}"
        return 1

    def _replace(self, name: str, method: str, text: str) -> None:
        path = self._here / name
        path.write_text(replace_method(path.read_text(), method, text))

    def _type(self, command: str, output: list[str], marks: dict[str, str]) -> None:
        if ended := re.findall(r"%(\d+)", command) if command.startswith("kill ") else ():
            for number in ended:
                _end(self._servers[int(number) - 1])
            return
        is_interrupted = "^C" in output
        is_server = command.endswith("&") and not command.endswith("&&")
        where, exports = self._home / ".where", self._home / ".exports"
        script = f"{command}\ncode=$?; pwd > {where}; export -p > {exports}; exit $code"
        before = f". {exports}\n" if exports.exists() else ""
        script = f"exec {command.rstrip('&')}" if is_interrupted or is_server else script
        process = subprocess.Popen(
            [
                "bash",
                "-c",
                before + script,
            ],
            cwd=self._here,
            env=self._env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        if is_server:
            self._servers.append(process)
            assert process.stdout is not None
            printed = [process.stdout.readline().rstrip("\n") for _ in output or [""]]
            code = 0
        else:
            if is_interrupted:
                self._interrupt(process)
            printed = process.communicate(timeout=PATIENCE_S)[0].splitlines()
            code = process.returncode
        expected = int(marks.get("exit", "3" if is_interrupted else "0"))
        assert code == expected, f"$ {command}\n" + "\n".join(printed)
        if where.exists():
            self._here = Path(where.read_text().strip())
        if output or not is_server:
            self._compare(command, [line for line in output if line != "^C"], printed, marks)

    def _interrupt(self, process: subprocess.Popen[str]) -> None:
        """Ctrl-C, when there is something to lose."""
        end = time.monotonic() + PATIENCE_S
        while process.poll() is None and time.monotonic() < end:
            if (self._here / ".gossamer" / "gossamer.db").exists():
                made = rows(
                    self._here / ".gossamer", "SELECT count(*) FROM sqlite_master WHERE name = 'attempt'"
                )
                if made[0][0] and rows(self._here / ".gossamer", "SELECT count(*) FROM attempt")[0][0] >= (
                    PAGES_BEFORE_INTERRUPT
                ):
                    break
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)

    def _compare(self, command: str, said: list[str], printed: list[str], marks: dict[str, str]) -> None:
        """Assert that the printed output is that of the page."""
        printed = [line.replace(str(self._home), "/home/me") for line in printed]
        if not any(LOG.match(line) for line in said):
            printed = without_log(printed)
        pattern = "".join(
            r"(?s:.*?\n)??" if line.strip() == "..." else re.escape(plain(line, marks)) + r"\n"
            for line in said
        )
        while printed and not printed[-1].strip():
            printed.pop()
        got = "".join(plain(line, marks) + "\n" for line in printed)
        assert not said or re.fullmatch(pattern, got), f"$ {command}\nprints\n" + "\n".join(printed)


def replace_method(source: str, method: str, text: str) -> str:
    """A module with another text of one of its methods."""
    old = re.compile(rf"^    def {method}\(.*?(?=^    \w|^\S|\Z)", re.DOTALL | re.MULTILINE)
    new, count = old.subn(lambda _: text, source)
    assert count == 1, f"no method {method}"
    return new


def _end(server: subprocess.Popen[str]) -> None:
    assert server.stdout is not None
    if server.stdout.closed:
        return
    if server.poll() is None:
        os.killpg(server.pid, signal.SIGTERM)
    server.communicate(timeout=10)


def without_log(lines: list[str]) -> list[str]:
    """Without the log's lines and the indented ones that belong to them."""
    found, is_log = [], False
    for line in lines:
        is_log = bool(LOG.match(line)) or (is_log and line.startswith("    "))
        if not is_log:
            found.append(line)
    return found


def plain(line: str, marks: dict[str, str]) -> str:
    """A line without what differs from run to run."""
    for pattern, word in VARYING:
        line = re.sub(pattern, word, line)
    if "roughly" in marks:
        line = NOUNS.sub(r"\1s", re.sub(r"[\d.,]+", "N", line))
    return line.strip()
