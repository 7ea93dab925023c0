"""Sentences about a server that does not answer, if nothing else is known. Pure."""

from __future__ import annotations

from gossamer.policy.sentences.words import Saying

SERVERS = ("Redis", "PostgreSQL", "MongoDB")
"""Servers whose errors begin with their names."""


def describe_outage(error: str, *, is_fleet: bool) -> Saying:
    """Describe a failed read and its consequences for crawls; perhaps only this read failed."""
    server = error.partition(" ")[0]
    doctor = "`gossamer doctor` names the missing parts."
    if server not in SERVERS:
        return Saying("The data cannot be read.", f"{doctor} No crawl depends on the dashboard.")
    fleet = "the fleet waits, and loses nothing; it continues by itself"
    crawls = "crawls that use it wait, and lose nothing; they continue by themselves"
    what_waits = fleet if is_fleet else crawls
    return Saying(
        f"{server} cannot be read.",
        f"While {server} does not answer, {what_waits} when it answers again. {doctor}",
    )
