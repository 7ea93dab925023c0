"""Sorting of records that do not fit into memory, with few files."""

from contextlib import closing

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.core.errors import StorageError
from gossamer.runtime import record_sorter
from gossamer.runtime.record_sorter import RecordSorter


class Row(msgspec.Struct, frozen=True):
    place: str
    number: int
    text: str = "\u2028\n"


def sort_rows(rows, memory, files):
    with pytest.MonkeyPatch.context() as patch, closing(RecordSorter(Row, lambda row: row.place)) as sorter:
        patch.setattr(record_sorter, "MEMORY_BYTES", memory)
        patch.setattr(record_sorter, "MOST_FILES", files)
        most = 0
        for row in rows:
            sorter.add_record(row)
            most = max(most, len(sorter._files))
        assert most < files, "a process has no more than so many open files"
        return list(sorter.read_records())


@given(st.lists(st.sampled_from("abä"), max_size=40), st.sampled_from([1, 100, 10_000]), st.integers(2, 5))
@settings(deadline=None)
def test_any_number_of_records_comes_in_order_and_those_of_one_place_as_they_came(places, memory, files):
    rows = [Row(place, number) for number, place in enumerate(places)]
    assert sort_rows(rows, memory, files) == sorted(rows, key=lambda row: row.place)


def test_a_full_disk_is_told_of(monkeypatch):
    def fail():
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(record_sorter, "MEMORY_BYTES", 1)
    monkeypatch.setattr(record_sorter, "TemporaryFile", fail)
    with pytest.raises(StorageError, match="No space left"):
        RecordSorter(Row, lambda row: row.place).add_record(Row("a", 1))
