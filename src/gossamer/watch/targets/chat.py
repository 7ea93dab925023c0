"""Alerts by Apprise, which knows a hundred chats and services."""

from __future__ import annotations

import asyncio
import logging
from importlib import import_module
from typing import Any

from gossamer.core.alerts import AlertChange, AlertNotice
from gossamer.core.errors import MissingServiceError, SettingError
from gossamer.install import install_command
from gossamer.watch.targets.text import notice_text


class AppriseTarget:
    """Port ``AlertTarget``: ``url`` is one of Apprise's (https://github.com/caronc/apprise/wiki)."""

    def __init__(self, name: str, url: str, *, timeout_s: float = 10.0) -> None:
        try:
            apprise: Any = import_module("apprise")
        except ImportError:
            raise MissingServiceError(
                f"the alert target {name} needs Apprise: {install_command('alerts')}"
            ) from None
        logging.getLogger("apprise").setLevel(logging.CRITICAL)  # its log lines may hold the URL
        self.name = name
        self._timeout_s = timeout_s
        self._services = apprise.Apprise()
        if not self._services.add(url):
            raise SettingError(f"the URL of the alert target {name} is none that Apprise knows")

    def __repr__(self) -> str:
        return f"<AppriseTarget {self.name}>"

    async def deliver(self, notice: AlertNotice) -> None:
        """See :class:`~gossamer.ports.alert_target.AlertTarget`."""
        try:
            async with asyncio.timeout(2 * self._timeout_s):
                is_taken = await asyncio.to_thread(self._notify, notice)
        except TimeoutError:
            raise MissingServiceError(f"no answer within {2 * self._timeout_s:g} seconds") from None
        if not is_taken:
            raise MissingServiceError("the service took no news")

    def _notify(self, notice: AlertNotice) -> bool:
        kind = {AlertChange.BEGUN: "warning", AlertChange.ENDED: "success"}.get(notice.change, "info")
        text = notice_text(notice)
        return bool(self._services.notify(body=text, title="Gossamer", notify_type=kind))
