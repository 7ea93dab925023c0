"""A resolver with the answers of a test."""

from __future__ import annotations

import socket
from collections.abc import Sequence

from gossamer.fetch.resolver import AddressInfo


class FixedResolver:
    """Says the same addresses for all names, or the next ones each time."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self._answers = list(answers)
        self.asked: list[str] = []

    async def resolve(self, host: str, port: int) -> Sequence[AddressInfo]:
        self.asked.append(host)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in answer]
