"""Putting the layers of settings together, and remembering which layer set what.

Strongest first: the command line (``-s KEY=VALUE``), the environment (``GOSSAMER_HTTP__MAX_REDIRECTS``), the
spider, the ``gossamer.toml`` of the project, the defaults. A stronger layer replaces a value as a whole.
A name that does not exist is an error in every layer; the error names the nearest right one.
Pure but for reading that one file: the environment is a parameter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace
from pydantic import ValidationError
from pydantic.fields import FieldInfo

from gossamer.config.names import canonical_name, is_section, suggest_name, suggest_section
from gossamer.config.option import SettingOption
from gossamer.config.section import MEANT_BY
from gossamer.config.settings import (
    DOMAIN,
    Settings,
    find_field,
    section_groups,
    setting_fields,
    split_name,
)
from gossamer.config.values import hide_secrets, parse_text, secrets_in, to_tuple
from gossamer.core.errors import SettingError
from gossamer.core.record import Record
from gossamer.runtime.known_secrets import remember_secrets

_SLIP = re.compile(
    r"""\s*(?P<key>[\w.-]+)\s*(?P<sign>[=:])\s*(?P<plain>(true|false|[+-]?[\d._]+|["'\[{].*)\s*(\#.*)?$)?"""
)
"""A line with a setting; ``plain``: its value can be one of TOML."""
PROJECT_FILE = "gossamer.toml"
PREFIX = "GOSSAMER_"
PATHS = ("data", "log.file", "replay.folder", "proxies.file")
"""Settings that name a file or a folder, except those of named sections."""

COMMAND_LINE, ENVIRONMENT, SPIDER, FILE, DEFAULT = "command line", "environment", "spider", "file", "default"


class SettingValue(NamedTuple):
    """One value in one layer."""

    value: Any
    layer: str
    source: str  # for people: ``-s delay``, ``GOSSAMER_DELAY``, ``spider``, the path of the file


class SettingExplanation(Record, frozen=True, kw_only=True):
    """The layers of one setting. Values are as shown to people: without passwords."""

    key: str
    value: Any
    layer: str  # "command line", "environment", "spider", "file" or "default"
    source: str  # the option, the variable or the file
    default: Any
    description: str
    overridden: tuple[tuple[str, Any], ...] = ()  # weaker layers that set it too: (source, value)


class LoadedSettings(Record, frozen=True, kw_only=True):
    """The merged settings, with the layers of each."""

    settings: Settings
    project: Path | None  # the folder of ``gossamer.toml``
    start: Path  # what relative paths of the other layers are relative to
    layers: Mapping[str, tuple[SettingValue, ...]]  # by full name, strongest first; absent: the default

    def layer_of(self, key: str) -> str:
        """The layer that set it: ``command line``, ``environment``, ``spider``, ``file``, ``default``."""
        return self.explain_setting(key).layer

    def explain_setting(self, key: str) -> SettingExplanation:
        """Return the layers of a setting. Raises ``SettingError`` for an unknown name."""
        name = canonical_name(key)
        field = find_field(name)
        if field is None:
            raise SettingError(f"unknown setting {key!r}{suggest_name(key)}")
        found = [
            SettingValue(hide_secrets(name, s.value), s.layer, s.source) for s in self.layers.get(name, ())
        ]
        first = found[0] if found else SettingValue(None, DEFAULT, DEFAULT)
        return SettingExplanation(
            key=name,
            value=hide_secrets(name, self.value_of(name)),
            layer=first.layer,
            source=first.source,
            default=field.get_default(call_default_factory=True),
            description=field.description or "",
            overridden=tuple((setting.source, setting.value) for setting in found[1:]),
        )

    def value_of(self, key: str) -> Any:
        """Return a setting by its full name; in a named section that does not exist, its default."""
        value: Any = self.settings
        name = canonical_name(key)
        for part in split_name(name):
            if isinstance(value, Mapping) and part not in value:
                field = find_field(name)
                return None if field is None else field.get_default(call_default_factory=True)
            value = value[part] if isinstance(value, Mapping) else getattr(value, part)
        return value

    def setting_names(self) -> list[str]:
        """Return every setting by its full name; in named sections, those that a layer sets."""
        return [*setting_fields(), *(name for name in self.layers if name not in setting_fields())]

    def path_of(self, key: str) -> Path | None:
        """A setting that names a file or folder, made absolute.

        Relative to the project where the file (or a default) says it, else to where we were started.
        """
        value = self.value_of(key)
        if value is None:
            return None
        in_project = self.project is not None and self.layer_of(key) in (FILE, DEFAULT)
        return ((self.project if in_project else None) or self.start) / Path(value).expanduser()


def load_settings(
    *,
    overrides: Mapping[str, Any] | Sequence[SettingOption] = (),
    env: Mapping[str, str],
    spider: Mapping[str, Any] | None = None,
    start: Path | None = None,
) -> LoadedSettings:
    """Settings from all layers.

    ``overrides`` are options or a mapping (whose strings are parsed, the rest taken as it is); sections are
    written ``http.max_redirects`` or ``http__max_redirects``. ``env`` is usually ``os.environ``. ``start`` is
    the folder from which ``gossamer.toml`` is searched upwards; ``None`` looks for no file.
    Raises :class:`SettingError`.
    """
    project = find_project(start) if start is not None else None
    layers: dict[str, list[SettingValue]] = {}
    for name, setting in (
        *_command_line(overrides),
        *_read_environment(env),
        *_read_values(spider or {}, SPIDER, "the spider"),
        *(_read_file(project / PROJECT_FILE) if project else ()),
    ):
        layers.setdefault(name, []).append(setting)
        remember_secrets(secrets_in(name, setting.value))
    loaded = LoadedSettings(
        settings=_validate_settings({name: found[0] for name, found in layers.items()}),
        project=project,
        start=(start or Path()).absolute(),
        layers={name: tuple(found) for name, found in layers.items()},
    )
    return replace(loaded, settings=_anchor_paths(loaded))


def _anchor_paths(loaded: LoadedSettings) -> Settings:
    """Make paths of the project's file relative to the project, not to the current folder."""
    settings = loaded.settings
    if loaded.project is None or loaded.project == loaded.start:
        return settings
    data, file, folder, proxies = (loaded.path_of(key) for key in PATHS)
    pools = {
        name: pool.model_copy(update={"file": _text_of(loaded.path_of(f"proxies.pools.{name}.file"))})
        for name, pool in settings.proxies.pools.items()
    }
    return settings.model_copy(
        update={
            "data": str(data),
            "log": settings.log.model_copy(update={"file": _text_of(file)}),
            "replay": settings.replay.model_copy(update={"folder": _text_of(folder)}),
            "proxies": settings.proxies.model_copy(update={"file": _text_of(proxies), "pools": pools}),
        }
    )


def _text_of(path: Path | None) -> str | None:
    return None if path is None else str(path)


def find_project(start: Path) -> Path | None:
    """Return this folder, or the nearest one above it, that has a ``gossamer.toml``."""
    folder = start.absolute()
    return next((f for f in (folder, *folder.parents) if (f / PROJECT_FILE).is_file()), None)


# --------------------------------------------------------------------------- one function per layer


def _command_line(
    overrides: Mapping[str, Any] | Sequence[SettingOption],
) -> Iterator[tuple[str, SettingValue]]:
    given: dict[str, SettingValue] = {}  # the last one of a name counts
    place = COMMAND_LINE
    if isinstance(overrides, Mapping):
        place = "arguments"
        overrides = [SettingOption(key, value, f"the argument {key}") for key, value in overrides.items()]
    for key, value, option in overrides:
        name, field = _resolve_name(key, place, value)
        parsed = parse_text(value, field) if isinstance(value, str) else to_tuple(value)
        given[name] = SettingValue(parsed, COMMAND_LINE, option)
    yield from given.items()


def _read_environment(env: Mapping[str, str]) -> Iterator[tuple[str, SettingValue]]:
    for variable, text in sorted(env.items()):
        # An empty variable counts as not set: ``${DELAY:-}`` in a compose file is not a value.
        if variable.startswith(PREFIX) and text:
            name, field = _resolve_name(
                variable.removeprefix(PREFIX).lower(), f"environment variable {variable}", text
            )
            yield name, SettingValue(parse_text(text, field), ENVIRONMENT, variable)


def _read_file(path: Path) -> Iterator[tuple[str, SettingValue]]:
    import tomllib  # most crawls have no file

    text = ""
    try:
        text = path.read_text(encoding="utf-8")
        content = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise SettingError(f"{path} cannot be read: {error}{_find_toml_slip(str(error), text)}") from None
    yield from _read_values(content, FILE, str(path))


def _find_toml_slip(error: str, text: str) -> str:
    """Return advice on a line that is not TOML; often empty. A value may be a secret and is not shown."""
    place = re.search(r"at line (\d+), ", error)
    slip = _SLIP.match(text.splitlines()[int(place[1]) - 1]) if place else None
    if slip is None or (slip["sign"] == "=" and slip["plain"]):
        return ""
    return (
        f"; write {slip['key']} = ..." if slip["plain"] else f'; text stands in quotes: {slip["key"]} = "..."'
    )


def _read_values(
    values: Mapping[str, Any], layer: str, source: str, section: str = ""
) -> Iterator[tuple[str, SettingValue]]:
    """Flatten a layer with typed values; sections are mappings or part of the name."""
    for own, value in values.items():
        key = f"{section}{own}"
        is_in_domain = key.startswith(f"{DOMAIN}.") and not isinstance(value, Mapping)
        if is_in_domain or not is_section(key):
            yield _resolve_name(key, source, value)[0], SettingValue(to_tuple(value), layer, source)
        elif not isinstance(value, Mapping):
            raise SettingError(
                f"{key} = {hide_secrets(key, value)!r} in {source}: {key} is a section with settings"
            )
        elif not value and key.rpartition(".")[0] in section_groups():
            raise SettingError(f"[{key}] in {source} is empty: write its settings below it, or remove it")
        else:
            yield from _read_values(value, layer, source, f"{key}.")


def _resolve_name(key: str, source: str, value: Any) -> tuple[str, FieldInfo]:
    """Return the full name of a setting, and its field."""
    name = canonical_name(key)
    field = find_field(name)
    if field is None:
        hint = suggest_section(key, value) if isinstance(value, Mapping) else suggest_name(key)
        raise SettingError(f"{source}: unknown setting {key!r} (= {hide_secrets(key, value)!r}){hint}")
    return name, field


# --------------------------------------------------------------------------- validation

NAME_ITSELF = "[key]"
"""The mark that pydantic adds to the place of a wrong name."""


def _validate_settings(flat: Mapping[str, SettingValue]) -> Settings:
    nested: dict[str, Any] = {}
    for name, setting in flat.items():
        *sections, key = split_name(name)
        place = nested
        for section in sections:
            place = place.setdefault(section, {})
        place[key] = setting.value
    try:
        return Settings.model_validate(nested)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_context=False)
        raise SettingError("; ".join(_describe_problem(problem, flat) for problem in problems[:5])) from None


def _describe_problem(problem: Any, flat: Mapping[str, SettingValue]) -> str:
    place = [str(part) for part in problem["loc"] if part != NAME_ITSELF]
    name = next((key for n in (4, 3, 2, 1) if (key := ".".join(place[:n])) in flat), None)
    message = problem["msg"].removeprefix("Value error, ").removeprefix("Input ")
    pattern = message.removeprefix("String should match pattern ").strip("'")
    if meant := MEANT_BY.get(pattern):
        message = f"should be {meant}"
    if name is None:  # a rule over several settings: say where those that it mentions come from
        sources = [f"{key}: {found.source}" for key, found in flat.items() if key in message.split()]
        where = f"{'.'.join(place)}: " if place else ""
        return f"{where}{message}" + (f" ({', '.join(sources)})" if sources else "")
    setting = flat[name]
    source = "" if setting.source == name else f" ({setting.source})"
    return f"{name} = {hide_secrets(name, setting.value)!r}{source}: {message}"
