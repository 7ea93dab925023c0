"""Alerts by e-mail."""

from __future__ import annotations

import asyncio
import smtplib
import ssl
from collections.abc import Sequence
from email.message import EmailMessage
from email.utils import formatdate
from ipaddress import ip_address
from urllib.parse import unquote, urlsplit

from gossamer.core.alerts import AlertNotice
from gossamer.core.errors import MissingServiceError
from gossamer.core.text import iso_time
from gossamer.watch.targets.text import notice_text

PORTS = {"smtp": 587, "smtps": 465}


class MailTarget:
    """Port ``AlertTarget``: news were taken when the server has accepted the message for all receivers.

    ``url`` is ``smtp://USER:PASSWORD@HOST:PORT`` (STARTTLS where the server offers it; a password is sent
    over TLS only, or to this machine) or ``smtps://…`` (TLS from the beginning).
    """

    def __init__(
        self, name: str, url: str, *, sender: str, to: Sequence[str], timeout_s: float = 10.0
    ) -> None:
        self.name = name
        self._parts = urlsplit(url)
        self._sender = sender
        self._to = tuple(to)
        self._timeout_s = timeout_s

    def __repr__(self) -> str:
        return f"<MailTarget {self.name} by {self._parts.hostname}>"

    async def deliver(self, notice: AlertNotice) -> None:
        """See :class:`~gossamer.ports.alert_target.AlertTarget`."""
        message = write_message(notice, self._sender, self._to)
        try:
            async with asyncio.timeout(4 * self._timeout_s):
                await asyncio.to_thread(self._send, message)
        except TimeoutError:
            raise MissingServiceError(f"no answer within {self._timeout_s:g} seconds") from None

    def _send(self, message: EmailMessage) -> None:
        try:
            with self._connect() as server:
                if self._parts.username:
                    server.login(unquote(self._parts.username), unquote(self._parts.password or ""))
                refused = server.send_message(message, self._sender, self._to)
        except smtplib.SMTPResponseException as error:
            raise MissingServiceError(f"the mail server answered {error.smtp_code}") from None
        except (OSError, ssl.SSLError, smtplib.SMTPException, ValueError) as error:
            raise MissingServiceError(f"the mail server took no mail ({type(error).__name__})") from None
        if refused:
            raise MissingServiceError(f"the mail server refused {len(refused)} of {len(self._to)} receivers")

    def _connect(self) -> smtplib.SMTP:
        host = self._parts.hostname or "localhost"
        port = self._parts.port or PORTS[self._parts.scheme]
        trusted = ssl.create_default_context()
        if self._parts.scheme == "smtps":
            return smtplib.SMTP_SSL(host, port, timeout=self._timeout_s, context=trusted)
        server = smtplib.SMTP(host, port, timeout=self._timeout_s)
        try:
            server.ehlo_or_helo_if_needed()
            if server.has_extn("starttls"):
                server.starttls(context=trusted)
            elif self._parts.username and not _is_here(host):
                raise MissingServiceError(
                    "the mail server offers no TLS, and the password is not sent without"
                )
        except BaseException:
            server.close()
            raise
        return server


def _is_here(host: str) -> bool:
    """Return whether a host is this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def write_message(notice: AlertNotice, sender: str, to: Sequence[str]) -> EmailMessage:
    """Return the message; untrusted text is in the body, or on the one line of the subject."""
    message = EmailMessage()
    message["Subject"] = f"[gossamer] {' '.join(notice.headline.split())[:180]}"
    message["From"] = sender
    message["To"] = ", ".join(to)
    message["Date"] = formatdate(notice.at)
    message["Auto-Submitted"] = "auto-generated"
    message["X-Gossamer-Alert"] = f"{notice.alert} {notice.change}"
    message.set_content(
        f"{notice_text(notice)}\n\nFound at {iso_time(notice.at)}, bad since {iso_time(notice.since)}.\n"
    )
    return message
