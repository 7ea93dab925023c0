"""The headers of a response, as spiders see them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping


class Headers(Mapping[str, str]):
    """Headers of a response: a mapping from names, in any case, to the first value of each name."""

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
        """Return all values of the header ``name``, in their order."""
        wanted = name.lower()
        return [value for key, value in self.pairs if key == wanted]

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(key for key, _ in self.pairs))

    def __len__(self) -> int:
        return len({key for key, _ in self.pairs})

    def __repr__(self) -> str:
        return f"Headers({dict(self)!r})"
