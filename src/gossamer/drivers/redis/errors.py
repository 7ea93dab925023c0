"""Describes Redis's errors to the operator: the event, the server, and a suggested fix. No secrets."""

from __future__ import annotations

from gossamer.core.errors import StorageError
from gossamer.drivers.redis.packages import MasterNotFoundError
from gossamer.drivers.redis.packages import exceptions as driver

PASSING = (
    driver.ConnectionError,
    driver.TimeoutError,
    driver.ReadOnlyError,
    driver.TryAgainError,
    driver.ClusterDownError,
    driver.SlotNotCoveredError,
    driver.MovedError,
    driver.AskError,
    OSError,
)
"""Troubles that a restart or a fail-over brings and takes away."""

_SECRETS = (driver.AuthenticationError, driver.AuthenticationWrongNumberOfArgsError)
RIGHTS = "ACL SETUSER NAME on >PASSWORD ~PREFIX:* +@all -@admin -@dangerous +info"
BROKER_RIGHTS = "ACL SETUSER NAME on >PASSWORD ~* &* +@all -@admin -@dangerous +info"
"""Its keys and channels have names that Celery gives them."""


def is_passing(error: BaseException) -> bool:
    """Whether it is worth trying again in a moment."""
    return isinstance(error, PASSING) and not isinstance(error, (*_SECRETS, driver.AuthorizationError))


def translate_error(error: BaseException, where: str) -> StorageError:
    """Return the error in our words. ``where`` names the server and may be shown."""
    return StorageError(f"Redis at {where} {describe_error(error)}")


def describe_error(error: BaseException, rights: str = RIGHTS) -> str:
    """Describe the state of a Redis that raised ``error``; ``rights`` are those that its user needs."""
    text = str(error) or type(error).__name__
    lower = text.lower()
    if isinstance(error, MasterNotFoundError):
        return _describe_sentinels(text)
    for kinds, signs, words in _MEANINGS:
        if isinstance(error, kinds) or any(sign in lower for sign in signs):
            return words.format(text=text, rights=rights)
    return f"refuses a command: {text}"


def _describe_sentinels(text: str) -> str:
    """Why no Sentinel has named a primary, by the driver's text: each that failed is behind a colon."""
    asked, _, failed = text.partition(" : ")
    name = asked.removeprefix("No master found for ")
    if "uthentication" in failed:
        return "has Sentinels that want a password of their own: add ?sentinel_password=PASSWORD to the URL"
    if failed:
        return (
            f"has no Sentinel that answers and names a primary {name} (do they run, and can their "
            "certificates be verified, where they are reached over TLS?); stored data is not lost"
        )
    return (
        f"has Sentinels that name no primary {name} that is up; is it called so (`sentinel monitor NAME`)? "
        "During a fail-over the crawl waits for the new one"
    )


_MEANINGS: tuple[tuple[tuple[type[BaseException], ...], tuple[str, ...], str], ...] = (
    (
        _SECRETS,
        ("noauth",),
        "refuses the user name or password; it is set in the URL: redis://USER:PASSWORD@HOST:PORT/DB",
    ),
    (
        (driver.NoPermissionError,),
        ("noperm", "can't run this command", "can't access at least one of the keys", "no permissions"),
        "does not give this user the rights it needs ({text}); needed: {rights}",
    ),
    (
        (driver.OutOfMemoryError,),
        ("maxmemory",),
        "is full: its maxmemory is reached, and nothing more can be added. Nothing is lost; "
        "give it more (CONFIG SET maxmemory SIZE) and the crawl continues",
    ),
    ((driver.BusyLoadingError,), (), "is still loading its data after a start; it will answer in a while"),
    (
        (),
        ("misconf",),
        "cannot write to its disk and takes no changes ({text}); free its disk, and the crawl continues",
    ),
    ((driver.ReadOnlyError,), (), "is a replica, which takes no changes; the URL must name the primary"),
    (
        (driver.MovedError, driver.AskError),
        (),
        "is a node of a Redis Cluster; write its URL as redis+cluster://HOST:PORT",
    ),
    (
        (),
        ("unknown command 'sentinel'", "unknown command `sentinel`"),
        "is not a Sentinel; write redis://HOST:PORT/DB for a single server",
    ),
    (
        (),
        ("cluster mode is not enabled", "cluster support disabled"),
        "is not in a Redis Cluster; write redis://HOST:PORT/DB for a single server",
    ),
    (
        (driver.ClusterDownError, driver.SlotNotCoveredError),
        (),
        "is an incomplete cluster ({text}); the crawl continues when all of its slots are served",
    ),
    (
        (driver.MaxConnectionsError,),
        ("max number of clients",),
        "has no connections left ({text}); raise its maxclients, or run fewer workers",
    ),
    (
        (),
        ("certificate verify failed",),
        "has a certificate that cannot be verified ({text}); where it is of an authority of your own, add "
        "?ssl_ca_certs=FILE to the URL",
    ),
    ((driver.TimeoutError, TimeoutError), (), "does not answer in time; stored data is not lost"),
    (
        PASSING,
        ("redis cluster cannot be connected",),
        "cannot be reached ({text}); is it running? Stored data is not lost",
    ),
)
"""The first match counts: the driver's classes, or words of the server's, and the message."""
