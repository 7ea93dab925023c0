"""The headers of a response, as spiders see them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping


class Headers(Mapping[str, str]):
    """Response headers: names in any case; the first value of a name, or all by ``getlist``."""

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        self.pairs = tuple(pairs)
        """All of them, in order, names in lower case."""

    def __getitem__(self, name: str) -> str:
        wanted = name.lower()
        for key, value in self.pairs:
            if key == wanted:
                return value
        raise KeyError(name)

    def getlist(self, name: str) -> list[str]:
        """Every value of a header, in order."""
        wanted = name.lower()
        return [value for key, value in self.pairs if key == wanted]

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(key for key, _ in self.pairs))

    def __len__(self) -> int:
        return len({key for key, _ in self.pairs})

    def __repr__(self) -> str:
        return f"Headers({dict(self)!r})"
