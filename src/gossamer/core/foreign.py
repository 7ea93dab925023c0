"""Items of other frameworks, as a pipeline takes them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any


class ForeignItem(ABC):
    """An item that another framework has made, and that is stored as it is: neither cleaned nor validated."""

    @property
    @abstractmethod
    def kind(self) -> str:
        """The name of its type."""

    @property
    @abstractmethod
    def key(self) -> str:
        """The identity among objects of this type, over all attempts at the page."""

    @abstractmethod
    def to_values(self) -> dict[str, Any]:
        """Its fields, in their order, as JSON has them."""
