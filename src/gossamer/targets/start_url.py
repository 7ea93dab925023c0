"""From what a person types for a site or a page to the URL that is fetched first, and the domain it is in."""

from __future__ import annotations

import re

from gossamer.policy import urls
from gossamer.policy.origins import is_loopback

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_SLIP = re.compile(r"(https?)(?::/?|//?)(?=[^:/])", re.IGNORECASE)


def absolute_url(text: str) -> str:
    """``shop.example/a`` is meant as ``https://shop.example/a``, ``127.0.0.1:8000`` as ``http://...``.

    Few sites on one's own machine have a certificate.
    """
    if _SCHEME.match(text):
        return text
    plain = f"http://{text}"
    return plain if is_loopback(urls.hostname_of(plain)) else f"https://{text}"


def mend_scheme(text: str) -> str | None:
    """The URL that is meant by ``http:/shop.example`` or ``http//shop.example``; ``None``: no such slip."""
    slip = _SLIP.match(text)
    return f"{slip[1].lower()}://{text[slip.end() :]}" if slip else None


def find_start_url(text: str) -> str | None:
    """The canonical URL of what was typed; ``None`` for what cannot be fetched.

    It has its fragment: whether that is a part of the page, the settings say when it is asked for.
    """
    canonical = urls.canonicalise_url(absolute_url(text), keep_fragment=True)
    return canonical if canonical is not None and canonical.startswith(("http://", "https://")) else None


def allowed_domain_of(url: str) -> str:
    """The entry of ``allowed_domains`` for the site of a canonical URL: with its port, without ``www.``."""
    host = urls.hostname_of(url)
    return host.removeprefix("www.") + urls.host_key(url).removeprefix(host)
