"""What the README and the pages say is what happens."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from gossamer.core.lifecycle import JOB_TABLE, REQUEST_TABLE, JobCommand, JobState
from kit.new_shell import NewShell
from kit.page_runner import PageRunner, blocks

THOROUGH = [pytest.mark.thorough, pytest.mark.timeout(600)]
ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
README = ROOT / "README.md"
PAGES = [README, *sorted(DOCS.rglob("*.md"))]
TUTORIAL = DOCS / "tutorial/first-crawl.md"
TYPED = (README, TUTORIAL, DOCS / "index.md")
"""The pages that begin with the installation."""
API = DOCS / "reference" / "api"
"""Its examples are run by ``test_api_examples.py``."""
RUNNABLE = [
    page
    for page in PAGES
    if page not in TYPED and page.parent != API and any(block.is_run for block in blocks(page.read_text()))
]
INSTALLS = [pytest.param(False, id="packages of the tests"), pytest.param(True, id="pip", marks=THOROUGH)]


@pytest.mark.long
@pytest.mark.parametrize("page", RUNNABLE, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_shows_happens(page: Path, tmp_path: Path) -> None:
    assert PageRunner(page.read_text(), tmp_path).run() > 0


@pytest.mark.parametrize("installs", INSTALLS)
def test_the_readme_can_be_typed_in_a_new_shell(
    installs: bool, redis_url: str, postgres_url: str, tmp_path: Path
) -> None:
    """From the installation to the fleet and the dashboard, in an environment that has nothing yet."""
    page = README.read_text()
    for shown, real in (
        ("redis://127.0.0.1:6379/0", redis_url),
        ("postgresql://gossamer:PASSWORD@127.0.0.1/gossamer", postgres_url),
    ):
        assert shown in page
        page = page.replace(shown, real)
    assert NewShell(tmp_path, installs=installs).type_page(page) >= 10


@pytest.mark.parametrize("installs", INSTALLS)
def test_the_tutorial_can_be_typed_in_a_new_shell(installs: bool, tmp_path: Path) -> None:
    assert NewShell(tmp_path, installs=installs).type_page(TUTORIAL.read_text()) >= 14


def test_every_installation_is_the_same() -> None:
    """The one that the new shells type."""
    first, *others = [
        next(block.text for block in blocks(page.read_text()) if "pip install" in block.text)
        for page in TYPED
    ]
    assert [text.removesuffix("$ gossamer demo\n") for text in others] == [first] * len(others)


def test_the_index_lists_the_guides_as_the_website_does() -> None:
    navigation = (
        (ROOT / "mkdocs.yml").read_text().partition("  - How to:\n")[2].partition("  - Reference:")[0]
    )
    listed = (DOCS / "index.md").read_text().partition("## Guides\n")[2].partition("## Reference")[0]
    entries = re.findall(r'^      ( *)- "?([^"\n]+?)"?:(?: (\S+))?$', navigation, re.MULTILINE)
    shown = re.findall(r"^(?:### (.+)|- \[(.+)\]\((.+)\))$", listed, re.MULTILINE)
    assert [(group or title, path) for group, title, path in shown] == [(t, path) for _, t, path in entries]


def test_the_readme_is_short() -> None:
    assert 600 <= len(README.read_text().split()) <= 800  # code and commands included


def test_the_runner_sees_what_is_not_so(tmp_path: Path) -> None:
    for wrong in ("$ echo one\ntwo", "$ echo 1\n2", "$ false", "$ printf 'a\\nb\\n'\na", "$ echo a\na\nb"):
        with pytest.raises(AssertionError):
            PageRunner(f"```console\n{wrong}\n```\n", tmp_path).run()
    with pytest.raises(AssertionError):
        PageRunner("```python\nassert 1 == 2\n```\n", tmp_path).run()
    right = "$ printf 'a\\nb\\nc\\n'\na\n...\nc\n$ echo 2026-01-02 03:04:05  1.5 s\n2020-02-02 02:02:02  3 s"
    assert PageRunner(f"```console\n{right}\n```\n", tmp_path).run() == 1


def table_between(name: str) -> list[tuple[str, ...]]:
    """The rows of the table of the architecture that stands between two marks."""
    page = (DOCS / "explanation/architecture.md").read_text()
    found = re.search(rf"<!-- {name} -->(.*?)<!-- /{name} -->", page, re.DOTALL)
    assert found is not None
    return [
        tuple(cell.strip() for cell in line.strip("| ").split("|")) for line in found[1].strip().splitlines()
    ]


def test_the_life_of_a_request_on_the_page_is_the_table() -> None:
    assert table_between("lifecycle")[2:] == [
        (state.value if state else "(new)", move.value, to.value)
        for (state, move), to in REQUEST_TABLE.items()
    ]


def test_the_life_of_a_job_on_the_page_is_the_table() -> None:
    head, _, *rows = table_between("job lifecycle")
    assert head == ("command", "(new)", *JobState)
    assert rows == [
        (command.value, *(JOB_TABLE.get((state, command), "-") for state in (None, *JobState)))
        for command in JobCommand
    ]


def test_links_lead_somewhere() -> None:
    for page in [*PAGES, *ROOT.glob("*.md"), ROOT / "changes" / "README.md"]:
        for target, anchor in re.findall(r"\]\((?!https?://)([^)#\s]*)(#[^)\s]*)?\)", page.read_text()):
            path = (page.parent / target) if target else page
            assert path.exists(), f"{page.name} links to {target}"
            assert not anchor or anchor[1:] in anchors(path), f"{page.name} links to {target}{anchor}"


def test_ten_questions_lead_from_the_index_to_their_answers() -> None:
    _, _, section = (DOCS / "index.md").read_text().partition("## Questions")
    rows = re.findall(r"^\| (.+\?) \| (.+) \|$", section.partition("\n## ")[0], re.MULTILINE)
    assert len(rows) >= 10
    assert [question for question, answer in rows if "](" not in answer] == []


def anchors(page: Path) -> set[str]:
    """What can stand behind the # of a link to a page."""
    text = page.read_text()
    titles = re.findall(r"^#+ (.+)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.MULTILINE)
    slugs = {re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", title.lower()).strip()) for title in titles}
    return slugs | set(re.findall(r'<a id="([^"]+)"', text))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_an_installation_that_a_page_shows_works_from_a_checkout(page: Path) -> None:
    """The package is on no index yet, so ``pip install gossamer`` cannot work."""
    text = page.read_text()
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for source, named in re.findall(r"pip install '?([^\s'`\[]+)(?:\[([\w,]+)\])?", text):
        assert source in (".", "./gossamer"), f"{page.name} installs {source}"
        assert set(filter(None, named.split(","))) <= extras.keys(), f"{page.name} installs {named}"
    assert "gossamer[" not in text.replace("./gossamer[", "")
