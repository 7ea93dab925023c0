"""The command that began a crawl of this machine, kept with the job so that others can resume it.

Guarantee: it holds no secret. A crawl that was begun with one is not begun again from here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from gossamer.config.layers import COMMAND_LINE, DEFAULT, LoadedSettings, load_settings
from gossamer.config.settings import Settings
from gossamer.config.values import hide_secrets
from gossamer.core.errors import StorageError, UsageError
from gossamer.core.redaction import has_userinfo
from gossamer.policy.credentials import authorizations_for
from gossamer.policy.secret_names import is_secret
from gossamer.targets.plan import settings_to_keep
from gossamer.targets.start_url import absolute_url


class LaunchPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The command that began a crawl the last time."""

    folder: str  # in which it was given
    target: str  # as it was typed; empty for a URL with a password
    arguments: dict[str, str] = {}  # of the spider
    options: tuple[tuple[str, str], ...] = ()  # settings that it gave: full name, and text as after ``-s``
    secrets: tuple[str, ...] = ()  # the names of arguments and settings that are not kept
    settings: str = "{}"  # all of them, settled, as JSON
    layers: dict[str, tuple[str, str]] = {}  # by name: the layer that set it, and where; absent: the default
    version: str = ""  # of the spider (``targets.plan.version_of``); empty where it is not known

    def to_command(self) -> list[str]:
        """Return the words after ``gossamer``. Raises ``UsageError`` for a crawl begun with a secret."""
        if self.secrets:
            raise UsageError(
                f"the crawl was begun with secrets, which are not kept ({', '.join(self.secrets)}): "
                "continue it with the command that began it"
            )
        arguments = [part for pair in self.arguments.items() for part in ("-a", "=".join(pair))]
        options = [part for pair in self.options for part in ("-s", "=".join(pair))]
        return ["crawl", *arguments, *options, "--", self.target]

    def read_settings(self) -> Settings:
        """The settings that the crawl was begun with, those that hold secrets at their defaults."""
        return load_settings(env={}, spider=msgspec.json.decode(self.settings)).settings


def launch_of(
    target: str, arguments: Mapping[str, str], loaded: LoadedSettings, *, version: str = ""
) -> bytes:
    """How a crawl is begun, packed; ``version``: that of its spider."""
    given = {name: found[0].value for name, found in loaded.layers.items() if found[0].layer == COMMAND_LINE}
    hidden = [name for name, value in given.items() if hide_secrets(name, value) != value]
    secret = [name for name, value in arguments.items() if is_secret(name) or has_userinfo(value)]
    if "@" in target and authorizations_for([absolute_url(target)]):
        target, hidden = "", ["the URL's user and password", *hidden]
    launch = LaunchPlan(
        folder=str(loaded.start),
        target=target,
        arguments={name: value for name, value in arguments.items() if name not in secret},
        options=tuple((name, to_text(value)) for name, value in given.items() if name not in hidden),
        secrets=(*secret, *hidden),
        settings=settings_to_keep(loaded.settings),
        version=version,
        layers={
            name: (found[0].layer, found[0].source)
            for name, found in loaded.layers.items()
            if found and found[0].layer != DEFAULT
        },
    )
    return msgspec.msgpack.encode(launch)


def launch_from(packed: bytes) -> LaunchPlan | None:
    """Unpack the launch of a crawl; ``None`` if none was kept. Raises ``StorageError`` for other bytes."""
    if not packed:
        return None
    try:
        return msgspec.msgpack.decode(packed, type=LaunchPlan)
    except msgspec.MsgspecError as error:
        raise StorageError(f"how the crawl was begun cannot be read: {error}") from None


def to_text(value: Any) -> str:
    """Return a value as it is written after ``-s KEY=``."""
    if value is None:
        return "none"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def overridden_by(launch: LaunchPlan, former: LaunchPlan | None) -> set[str]:
    """Return the settings whose values differ from the former command: they were changed on purpose."""
    before = dict(former.options) if former is not None else {}
    return {name for name, text in launch.options if before.get(name) != text}
