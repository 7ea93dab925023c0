"""Reading the files of ``deploy/`` as Docker, Compose and systemd read them, as far as they use it."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import typer
import yaml

from gossamer.cli.app import build_app
from gossamer.config.settings import setting_fields
from kit.server_process import missing

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
UNITS = sorted([*DEPLOY.glob("systemd/*.service"), *DEPLOY.glob("systemd/*.target")])
PAGES = (
    ROOT / "docs/how-to/deploy.md",
    DEPLOY / "README.md",
    ROOT / "docs/how-to/kubernetes.md",
    ROOT / "docs/how-to/alerts-and-grafana.md",
)

GIVEN = {"PROJECT": "/srv/spiders", "REDIS_PASSWORD": "r3d1s", "POSTGRES_PASSWORD": "p0stgr3s"}
"""The values that an operator fills in."""
STOP_S = max(setting_fields()["cluster.drain"].default, 30) + 15
"""How long a process is given to end before it is killed."""

_VARIABLE = re.compile(r"\$(?:(\$)|\{(\w+)(?:(:[-?])([^}]*))?\})")


class NotSet(Exception):
    """Compose would refuse: a variable that must be set is not."""


def compose(environment: Mapping[str, str]) -> dict[str, Any]:
    """The services and all else of ``compose.yaml``, with its variables filled in."""
    text = (DEPLOY / "compose.yaml").read_text()
    whole: dict[str, Any] = _filled(yaml.safe_load(text), environment)
    return whole


def variables() -> set[str]:
    """The variables that ``compose.yaml`` uses."""
    return {name for _, name, _, _ in _VARIABLE.findall((DEPLOY / "compose.yaml").read_text()) if name}


def env_file(path: Path) -> dict[str, str]:
    """The variables of an environment file."""
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return {name: value for name, _, value in (line.partition("=") for line in lines)}


def stages() -> dict[str, list[tuple[str, str]]]:
    """The instructions of the Dockerfile by stage, those of the stage that it is based on first."""
    found: dict[str, list[tuple[str, str]]] = {}
    name = ""
    text = (DEPLOY / "Dockerfile").read_text().replace("\\\n", " ")
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        word, _, rest = line.strip().partition(" ")
        if word == "FROM":
            base, _, name = rest.partition(" AS ")
            found[name] = list(found.get(base, ()))
        else:
            found[name].append((word, rest.strip()))
    return found


def unit(path: Path) -> list[tuple[str, str]]:
    """The settings of a unit, in their order."""
    lines = [line for line in path.read_text().splitlines() if "=" in line and not line.startswith("#")]
    return [(name, value) for name, _, value in (line.partition("=") for line in lines)]


def typed(text: str) -> Iterator[list[str]]:
    """Every command line of Gossamer in the examples of a page, as words after ``gossamer``."""
    blocks = re.findall(r"```console\n(.*?)```", text, re.DOTALL)
    lines = [line[2:] for block in blocks for line in block.splitlines() if line.startswith("$ ")]
    inline = re.findall(r"`(gossamer [^`\n]+)`", text)
    for line in (*lines, *inline):
        found = re.search(r"(?:^|compose run --rm(?: -T)? |bin/|exec [\w/-]+ -- )gossamer ([^&>|]+)", line)
        if found:
            yield shlex.split(found[1])


def _filled(value: Any, environment: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _filled(inner, environment) for key, inner in value.items()}
    if isinstance(value, list):
        return [_filled(inner, environment) for inner in value]
    return _VARIABLE.sub(lambda m: _value(m, environment), value) if isinstance(value, str) else value


def _value(match: re.Match[str], environment: Mapping[str, str]) -> str:
    dollar, name, kind, other = match.groups()
    if dollar:
        return "$"
    value = environment.get(name, "")
    if not value and kind == ":?":
        raise NotSet(f"{name}: {other}")
    return value or (other if kind == ":-" else "") or ""


# --------------------------------------------------------------------------- checking


def tool(name: str, package: str) -> str:
    """A tool of the ``dev`` extra."""
    beside = Path(sys.executable).with_name(name)
    found = str(beside) if beside.exists() else shutil.which(name)
    return found or missing(f"{name} is not installed; pip install {package}")


def run(*command: str | Path) -> str:
    """Run a check, fail with its complaints, and return the rest of its output."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not done.stderr, done.stderr  # warnings of systemd-analyze do not change its exit code
    return done.stdout


@cache
def _gossamer() -> Any:
    return typer.main.get_command(build_app())


def parses(words: Sequence[str]) -> str:
    """The command that Gossamer's command line makes of these words; raises when it makes nothing of them."""
    command = _gossamer()
    context, rest, name = None, list(words), ""
    while hasattr(command, "commands"):
        context = command.make_context("gossamer", [], parent=context, resilient_parsing=True)
        name, *rest = rest
        command = command.commands[name]
    command.make_context(name, rest, parent=context)
    return name


def seconds(span: str) -> float:
    """A span of Compose or systemd."""
    assert re.fullmatch(r"\d+s?", span), span
    return float(span.removesuffix("s"))


def image_environment(stage: str) -> dict[str, str]:
    """The environment of the containers of a stage."""
    words = [word for name, value in stages()[stage] if name == "ENV" for word in shlex.split(value)]
    return {name: value for name, _, value in (word.partition("=") for word in words)}
