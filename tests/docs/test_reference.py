"""The reference is what the code says, nothing in the code is without words, and the website builds."""

from __future__ import annotations

import importlib
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from types import ModuleType

import pytest
import typer
import yaml

from gossamer.cli.app import build_app
from gossamer.config.settings import setting_fields
from gossamer.core.errors import Fault
from gossamer.core.lifecycle import RequestState
from kit.environment import environment
from kit.scripts import script_module

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


@pytest.fixture
def scripts() -> Iterator[ModuleType]:
    """The generator, as a module."""
    with script_module("reference") as module:
        yield module


def test_the_pages_are_what_the_code_says(scripts: ModuleType) -> None:
    made = scripts.pages()
    stale = [name for name, text in made.items() if (DOCS / "reference" / name).read_text() != text]
    assert not stale, f"{stale}: run `python scripts/reference.py`"
    for name in setting_fields():
        assert f'<a id="{name}"></a>' in made["settings.md"]
    for word in (*Fault, *RequestState):
        assert f"`{word.value}`" in made["errors.md"] + made["states.md"]


@pytest.mark.parametrize(
    ("argument", "code", "said"), [("--help", 0, "usage: reference.py"), ("--chekc", 2, "--chekc")]
)
def test_help_helps_and_writes_nothing(
    scripts: ModuleType,
    argument: str,
    code: int,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(scripts, "PAGES", tmp_path / "reference")
    with pytest.raises(SystemExit) as end:
        scripts.main([argument])
    assert end.value.code == code
    assert said in "".join(capsys.readouterr())
    assert list(tmp_path.iterdir()) == []


class Silent(Enum):
    """An enum with a member of which nothing is said."""

    SAID = "said"  # what it means
    NOT_SAID = "not_said"


class NoDocstring:
    FIELD = 1  # a field


def test_what_has_no_meaning_is_an_error(scripts: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    meanings = importlib.import_module("meanings")
    with pytest.raises(meanings.Undocumented, match="NOT_SAID"):
        meanings.meanings(Silent)
    with pytest.raises(meanings.Undocumented, match="docstring"):
        meanings.docstring(NoDocstring)
    monkeypatch.setattr(setting_fields()["max_pages"], "description", " ")
    with pytest.raises(meanings.Undocumented, match="max_pages"):
        scripts.pages()


def test_a_bar_in_code_divides_no_cell_and_needs_no_backslash(scripts: ModuleType) -> None:
    meanings = importlib.import_module("meanings")
    row = meanings.table(("type",), [("`dict[str, int] | None` or a|b",)]).splitlines()[-1]
    assert row == "| <code>dict[str, int] &#124; None</code> or a\\|b |"


def test_commands_without_words_are_an_error(scripts: ModuleType) -> None:
    commands = importlib.import_module("reference_commands")
    app = typer.Typer()
    app.command("one", epilog="Examples:\n  gossamer one")(lambda: None)
    app.command("two", epilog="Examples:\n  gossamer two")(lambda: None)
    application = typer.main.get_command(app)
    [(path, command), *_] = commands.commands(application)
    with pytest.raises(commands.Undocumented, match="gossamer one has no docstring"):
        commands._command(path, command)


def test_examples_in_the_help_can_be_typed(scripts: ModuleType) -> None:
    commands = importlib.import_module("reference_commands")
    application = typer.main.get_command(build_app())
    lines = [line for _, command in commands.commands(application) for line in commands.examples(command)]
    typed = [
        part
        for line in lines
        for part in re.split(r"&&|\||>|  +", line)
        if part.strip().startswith("gossamer ")
    ]
    assert len(typed) > 30
    for text in typed:
        _, *words = shlex.split(text)
        command, context = application, None
        while hasattr(command, "commands"):
            name, *words = words
            command = command.commands[name]
        command.make_context(name, words, parent=context, resilient_parsing=False)


# --------------------------------------------------------------------------- the website


def navigation(entries: list[object]) -> Iterator[str]:
    """The pages that the website's navigation names."""
    for entry in entries:
        [target] = entry.values() if isinstance(entry, dict) else [entry]
        if isinstance(target, list):
            yield from navigation(target)
        else:
            yield str(target)


def test_every_page_is_in_the_navigation() -> None:
    # Tags of the configuration's own are not needed here.
    config = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
    named = list(navigation(config["nav"]))
    assert sorted(named) == sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md"))
    assert config["theme"]["font"] is False


def test_the_website_builds_and_fetches_nothing_from_others(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)],
        cwd=ROOT,
        env=environment(NO_MKDOCS_2_WARNING="1"),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) > 10
    for page in pages:
        found = re.findall(
            r"<(?:script|link|img|iframe)[^>]*(?:src|href)=\"?(https?:[^\"> ]+)", page.read_text()
        )
        assert not found, f"{page.name} fetches {found}"
