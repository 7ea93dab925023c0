"""Every archive keeps every promise of the two contracts."""

from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from gossamer.archive.depot import ArchiveDepot
from gossamer.archive.reader import WarcReader
from gossamer.archive.writer import ArchiveOptions, WarcWriter
from gossamer.blobs.folder import FolderBlobStore
from gossamer.config.settings import Settings
from gossamer.testing.contracts.archive_harness import JOB, ArchiveSubject
from gossamer.testing.contracts.archive_reader import ARCHIVE_READER_CHECKS, check_archive_reader
from gossamer.testing.contracts.archive_writer import ARCHIVE_WRITER_CHECKS, check_archive_writer
from gossamer.wiring.archives import open_depot, open_place
from kit.servers import on_servers

OPTIONS = {
    "folder": ArchiveOptions(),
    "synced": ArchiveOptions(is_synced=True),
    "small files": ArchiveOptions(max_file_bytes=1500, revisits=False),
    "s3": ArchiveOptions(),
    "s3 by turns": ArchiveOptions(publishes_turns=True),
}
KINDS = ["folder", "synced", "small files", *on_servers("s3", "s3 by turns")]


@pytest.fixture
def make(request, tmp_path):
    """Makes an archive of the kind that a test is run for."""
    kind, numbers = request.param, iter(range(99))

    @asynccontextmanager
    async def make_archive(clock):
        number = next(numbers)
        url = request.getfixturevalue("s3_url") if kind.startswith("s3") else str(tmp_path)
        said = {"archive": {"url": f"{url}/{number}"}, "data": str(tmp_path / f"data-{number}")}
        settings = Settings.model_validate(said)
        depot = open_depot(settings)
        subject = ArchiveSubject(
            WarcWriter(depot, JOB, OPTIONS[kind]),
            WarcReader(open_place(settings)),
            lambda job: WarcWriter(depot, job, OPTIONS[kind]),
            is_shared_at_once=kind != "s3",
        )
        yield subject
        await subject.writer.close()

    return make_archive


@pytest.mark.parametrize("name", ARCHIVE_WRITER_CHECKS)
@pytest.mark.parametrize("make", KINDS, indirect=True)
async def test_writer(make, name):
    await ARCHIVE_WRITER_CHECKS[name](make)


@pytest.mark.parametrize("name", ARCHIVE_READER_CHECKS)
@pytest.mark.parametrize("make", KINDS, indirect=True)
async def test_reader(make, name):
    await ARCHIVE_READER_CHECKS[name](make)


@pytest.mark.parametrize("make", ["folder"], indirect=True)
async def test_the_suites_run_every_check(make):
    await check_archive_writer(make)
    await check_archive_reader(make)
    assert (len(ARCHIVE_WRITER_CHECKS), len(ARCHIVE_READER_CHECKS)) >= (5, 5)


async def test_the_suite_catches_a_reader_that_takes_any_answer_of_a_key(tmp_path):
    class Careless(WarcReader):
        async def _find_entries(self, job, prefix):
            found = await super()._find_entries(job, prefix)
            return [replace(entry, request_digest="") for entry in found]

    @asynccontextmanager
    async def careless(clock):
        depot = ArchiveDepot(FolderBlobStore(tmp_path), Path(tmp_path), is_final=True)
        writer = WarcWriter(depot, JOB)
        yield ArchiveSubject(writer, Careless(FolderBlobStore(tmp_path)), lambda job: WarcWriter(depot, job))

    with pytest.raises(AssertionError, match="is found"):
        await ARCHIVE_READER_CHECKS["requests_with_bodies_are_told_apart"](careless)
