"""Reads CSV row by row: malformed rows are counted and reported, and the others are read."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from typing import TextIO


class CsvReader:
    """The rows of a text, as dicts by the names of the first row, or by ``headers``.

    ``trouble`` counts skipped lines by reason: ``fields`` (more or fewer than there are names), ``malformed``
    (a field longer than 128 KB: an unclosed quotation mark). ``first`` gives the line of the first. Empty
    lines are ignored.
    """

    def __init__(
        self, text: TextIO, *, delimiter: str = ",", quotechar: str = '"', headers: Sequence[str] = ()
    ) -> None:
        self._rows = csv.reader(text, delimiter=delimiter, quotechar=quotechar)
        self._headers = list(headers)
        self.trouble: dict[str, int] = {}
        self.first = ""

    def read_rows(self) -> Iterator[dict[str, str]]:
        """Yield each row, as its end is seen."""
        end = 0  # the line that the latest row ended with
        while True:
            try:
                row = next(self._rows, None)
            except csv.Error as error:
                self._count_lines("malformed", end, str(error))
                end = self._rows.line_num
                continue
            if row is None:
                return
            if row and not self._headers:
                self._headers = row
            elif len(row) == len(self._headers):
                yield dict(zip(self._headers, row, strict=True))
            elif row:
                self._count_lines("fields", end, f"{len(row)} fields instead of {len(self._headers)}")
            end = self._rows.line_num

    def _count_lines(self, reason: str, end: int, why: str) -> None:
        last = self._rows.line_num
        self.trouble[reason] = self.trouble.get(reason, 0) + last - end
        lines = f"line {last}" if last == end + 1 else f"lines {end + 1} to {last}"
        self.first = self.first or f"{lines}: {why}"
