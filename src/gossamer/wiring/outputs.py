"""The outputs that the settings name, and their openers by URL scheme."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from pathlib import Path
from urllib.parse import unquote, urlsplit

from gossamer.config.data import OutputSettings
from gossamer.config.settings import Settings
from gossamer.core.errors import SettingError
from gossamer.core.redaction import shown_server
from gossamer.outputs.runner import OutputDuty, OutputPlan, OutputRunner
from gossamer.ports.backends import StoreBackend
from gossamer.ports.change_feed import ChangeFeed
from gossamer.ports.duty import Duty
from gossamer.ports.item_output import ItemOutput
from gossamer.runtime.file_lock import JobLock

LINES = (".jsonl", ".jl", ".ndjson")


def open_outputs(settings: Settings, keeping: StoreBackend) -> OutputRunner:
    """Return the runner of the outputs; it opens nothing before it begins.

    Raises ``SettingError`` for a URL without an output, and for a store whose changes cannot be followed.
    """
    plans = plan_outputs(settings)
    return OutputRunner(_feed_of(keeping), plans)


def plan_outputs(settings: Settings) -> list[OutputPlan]:
    """Return the plan of each output. Raises ``SettingError`` for a URL that names no output."""
    return [_plan_of(settings, name, said) for name, said in settings.outputs.items()]


def output_duties(settings: Settings, keeping: StoreBackend) -> tuple[Duty, ...]:
    """Return the outputs of a fleet as duties of its leading supervisor. Raises as :func:`open_outputs`."""
    feed = _feed_of(keeping)
    return tuple(OutputDuty(feed, plan) for plan in plan_outputs(settings))


def _feed_of(keeping: StoreBackend) -> ChangeFeed:
    if keeping.changes is None:
        raise SettingError("outputs need a store whose changes can be followed: not one in memory")
    return keeping.changes


def _plan_of(settings: Settings, name: str, said: OutputSettings) -> OutputPlan:
    return OutputPlan(
        name=name,
        open=_opener_of(settings, name, said.url),
        lock=partial(JobLock, settings.data, f"output.{name}"),
        types=frozenset(said.types),
        batch=said.batch,
        drain_s=said.drain,
    )


def _opener_of(settings: Settings, name: str, url: str) -> partial[ItemOutput]:
    scheme = url.partition("://")[0] if "://" in url else "file"
    path = unquote(urlsplit(url).path) if "://" in url else url
    if scheme in ("postgresql", "postgres"):
        return partial(_open_late, "gossamer.store.postgres.output", "PostgresOutput", url)
    if scheme == "sqlite" and path.strip("/"):
        file = Path(path.removeprefix("/") if not path.startswith("//") else path[1:])
        return partial(_open_late, "gossamer.store.sqlite.output", "SqliteOutput", file)
    if scheme == "file" and path.lower().endswith(LINES):
        return partial(_open_late, "gossamer.outputs.file", "FileOutput", Path(path))
    if scheme == "s3" or (scheme == "file" and path.endswith("/")):
        return partial(_open_objects, settings, name, url)
    raise SettingError(
        f"outputs.{name}.url = {shown_server(url)!r} names no output; use a path or file:///FILE.jsonl, "
        "file:///FOLDER/, s3://BUCKET/PREFIX, sqlite:///FILE or postgresql://USER@HOST/DATABASE"
    )


def _open_late(module: str, kind: str, place: str | Path) -> ItemOutput:
    made: ItemOutput = getattr(import_module(module), kind)(place)
    return made


def _open_objects(settings: Settings, name: str, url: str) -> ItemOutput:
    blobs = import_module("gossamer.wiring.blobs").open_blobs(url, settings)
    made: ItemOutput = import_module("gossamer.outputs.objects").ObjectOutput(blobs, name)
    return made
