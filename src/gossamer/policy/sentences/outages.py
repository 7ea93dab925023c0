"""The sentences about a server that does not answer a question, where nothing else can be said. Pure."""

from __future__ import annotations

from gossamer.policy.sentences.words import Saying

SERVERS = ("Redis", "PostgreSQL", "MongoDB")
"""Servers whose errors begin with their names."""


def describe_outage(error: str, *, is_fleet: bool) -> Saying:
    """What could not be read, and what follows for the crawls; it may be this question alone that failed."""
    server = error.partition(" ")[0]
    doctor = "`gossamer doctor` says what is missing."
    if server not in SERVERS:
        return Saying("The data cannot be read.", f"{doctor} No crawl depends on the dashboard.")
    fleet = "the fleet waits, and loses nothing; it continues by itself"
    crawls = "crawls that use it wait, and lose nothing; they continue by themselves"
    what_waits = fleet if is_fleet else crawls
    return Saying(
        f"{server} cannot be read.",
        f"While {server} does not answer, {what_waits} when it answers again. {doctor}",
    )
