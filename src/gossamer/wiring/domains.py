"""Settings of single domains; imported only if there are any."""

from __future__ import annotations

import os
from collections.abc import Callable

from gossamer.config.domains import DomainSettings
from gossamer.config.settings import Settings
from gossamer.core.authorization import authorization_of, secrets_of_authorization
from gossamer.core.errors import MissingServiceError
from gossamer.fetch.domains import DomainFetcher, DomainOptions
from gossamer.policy.domains import find_domain
from gossamer.policy.urls import host_key
from gossamer.ports.clock import Clock
from gossamer.ports.cookie_store import CookieStore
from gossamer.ports.fetcher import Fetcher
from gossamer.runtime.known_secrets import remember_secrets


def with_domains(fetcher: Fetcher, settings: Settings, cookies: CookieStore, clock: Clock) -> Fetcher:
    """Return a fetcher that applies the settings of each request's domain.

    Raises ``MissingServiceError`` if the environment lacks a secret.
    """
    options = {domain.lower(): _options_of(domain, own) for domain, own in settings.domain.items()}
    says_any = any(own != DomainOptions() for own in options.values())
    return DomainFetcher(fetcher, options, cookies, clock) if says_any else fetcher


def obeys_at(settings: Settings) -> Callable[[str], bool]:
    """Whether the robots.txt of a URL's host is obeyed."""
    said = {domain.lower(): own.robots for domain, own in settings.domain.items()}

    def obeys(url: str) -> bool:
        own = find_domain(said, host_key(url))
        return settings.robots if own is None else own

    return obeys


def agent_at(settings: Settings) -> Callable[[str], str]:
    """Return the User-Agent for the robots.txt of an origin: that of its pages."""
    said = {domain.lower(): own.user_agent for domain, own in settings.domain.items()}

    def choose_agent(origin: str) -> str:
        return find_domain(said, host_key(origin)) or settings.user_agent

    return choose_agent


def _options_of(domain: str, own: DomainSettings) -> DomainOptions:
    return DomainOptions(
        user_agent=own.user_agent or "",
        headers=own.headers,
        auth=_authorization_of(domain, own),
        cookies=own.cookies,
        timeout=own.timeout or None,
        max_size=own.max_size,
    )


def _authorization_of(domain: str, own: DomainSettings) -> str:
    if own.auth or not own.auth_env:
        return own.auth or ""
    text = os.environ.get(own.auth_env, "")
    if not text:
        raise MissingServiceError(
            f"{domain} has no password or token: put it into the environment variable {own.auth_env}, "
            "which is not set"
        )
    user, colon, password = text.partition(":")
    value = authorization_of((user, password) if colon else text, own.auth_env)
    remember_secrets(secrets_of_authorization(value))
    return value
