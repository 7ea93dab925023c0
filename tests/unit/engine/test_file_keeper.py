"""Files on their way: the bytes first, then what is known of them, and nothing that is not whole."""

import hashlib
import io
import os
from functools import partial

import pytest
from PIL import Image

from gossamer.blobs.folder import FolderBlobStore
from gossamer.core.errors import Fault, FetchError, StorageError, UsageError
from gossamer.core.files import Saving
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult
from gossamer.engine.file_keeper import FileKeeper, FileOptions
from gossamer.engine.file_sweep import sweep_files
from gossamer.items.file import make_file_item
from gossamer.items.pipeline import DefaultPipeline
from gossamer.parse.thumbnails import ThumbnailMaker
from gossamer.store.memory.files import MemoryFileStore
from gossamer.testing.clock import ManualClock
from gossamer.wiring.files import _spool_bytes

URL = "http://a.example/one"
SIZES = {"small": (20, 20), "large": (5000, 5000)}


def picture(kind, size=(40, 30), mode="RGB"):
    out = io.BytesIO()
    Image.new(mode, size).save(out, kind)
    return out.getvalue()


def count_calls(of, name):
    """A list that grows with each call of a method."""
    act, calls = getattr(of, name), []

    def count(*given):
        calls.append(given)
        return act(*given)

    setattr(of, name, count)
    return calls


class Shelf:
    """A keeper with what it works with; the site answers what ``answer`` says."""

    def __init__(self, folder, job="shop-1", files=None, store="one", **options):
        self.clock = ManualClock(1000.0)
        self.files = files or MemoryFileStore()
        self.blobs = FolderBlobStore(folder / "files")
        self.folder = folder / "files"
        self.answer = (200, b"%PDF-1", {})
        self.asked = []
        self.puts = 0
        put_file = self.blobs.put_file

        async def put(name, path):
            self.puts += 1
            await put_file(name, path)

        self.blobs.put_file = put
        record = DefaultPipeline().build_record
        self.keeper = FileKeeper(
            job,
            self,
            self.files,
            self.blobs,
            FileOptions(**options),
            store=store,
            clock=self.clock,
            make_record=lambda file, name, page: record(make_file_item(file, name), page),
            make_thumbnails=ThumbnailMaker(10_000).make_thumbnails,
            spool_bytes=partial(_spool_bytes, folder / "spool"),
        )

    async def fetch(self, request, route=None):
        self.asked.append(request.headers)
        status, body, headers = self.answer
        flags = ("truncated",) if headers.get("cut") else ()
        return FetchResult(
            url=request.url, status=status, headers=tuple(headers.items()), body=body, flags=flags,
            started_at=0.0, latency_s=0.0, elapsed_s=0.0, rung="http",
        )  # fmt: skip

    async def keep(self, url=URL, **fields):
        request = Request(url, saves=Saving(name="The one"), via="http://a.example/", **fields)
        return await self.keeper.keep_file(request, await self.keeper.fetch(request))

    def names(self):
        found = [path.relative_to(self.folder).as_posix() for path in self.folder.rglob("*.*")]
        return sorted(name for name in found if not name.startswith("stores/"))


async def test_equal_bytes_are_stored_once_whatever_they_are_called(tmp_path):
    shelf = Shelf(tmp_path)
    shelf.answer = (200, b"%PDF-1", {"content-type": "application/pdf"})
    item, dropped = await shelf.keep()
    shelf.answer = (200, b"%PDF-1", {"content-type": "text/x-other"})
    other, _ = await shelf.keep(URL + "?again", redirects=("http://a.example/first",))
    digest = hashlib.sha256(b"%PDF-1").hexdigest()
    name = f"{digest[:2]}/{digest}.pdf"
    assert (shelf.names(), shelf.puts, dropped) == ([name], 1, {})
    assert (item.type, item.key, item.url) == ("File", URL, "http://a.example/")
    assert other.key == "http://a.example/first", "a file is known by the URL that it was asked for"
    assert [file.blob for file in await shelf.files.read_files("shop-1")] == [name, name]


async def test_bytes_are_there_before_anything_names_them(tmp_path):
    shelf = Shelf(tmp_path)

    async def fail(name, path):
        raise StorageError("the disk is full")

    shelf.blobs.put_file = fail
    with pytest.raises(StorageError):
        await shelf.keep()
    assert await shelf.files.read_files() == []


async def test_a_file_whose_bytes_are_swept_while_it_is_noted_is_tried_again(tmp_path):
    shelf = Shelf(tmp_path)
    save_file = shelf.files.save_file

    async def sweep_before(file):
        await shelf.blobs.delete_blob(file.blob)  # somebody who had looked before there was a row
        await save_file(file)

    shelf.files.save_file = sweep_before
    with pytest.raises(FetchError) as error:
        await shelf.keep()
    assert error.value.fault is Fault.INCOMPLETE
    shelf.files.save_file = save_file
    await shelf.keep()
    assert (len(shelf.names()), shelf.puts) == (1, 2)


async def test_a_drawing_has_no_thumbnails_and_needs_none(tmp_path):
    shelf = Shelf(tmp_path, thumbnails=SIZES)
    shelf.answer = (200, b"<svg/>", {"content-type": "image/svg+xml", "etag": '"1"'})
    for _ in range(2):
        assert (await shelf.keep())[1] == {}
    assert shelf.asked[1]["If-None-Match"] == '"1"', "it is not taken for one that lacks them"


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        ((200, b"", {}), Fault.INCOMPLETE),
        ((200, b"half", {"cut": "yes"}), Fault.INCOMPLETE),
        ((206, b"part", {}), Fault.INCOMPLETE),
        ((304, b"", {}), Fault.PROTOCOL),
        ((404, b"no", {}), Fault.GONE),
        ((200, b"x", {"content-type": "video/mp4"}), Fault.UNWANTED),
    ],
)
async def test_what_is_no_whole_file_is_not_kept(tmp_path, answer, fault):
    shelf = Shelf(tmp_path, types=("image/*",))
    shelf.answer = answer
    with pytest.raises(FetchError) as raised:
        await shelf.keep()
    assert (raised.value.fault, shelf.names(), await shelf.files.read_files()) == (fault, [], [])


async def test_a_file_that_has_not_changed_is_not_sent_again(tmp_path):
    files = MemoryFileStore()
    shelf = Shelf(tmp_path, files=files)
    shelf.answer = (200, b"%PDF-1", {"etag": '"1"', "last-modified": "Tue, 15 Nov 1994 12:45:26 GMT"})
    first, _ = await shelf.keep()
    later = Shelf(tmp_path, "shop-2", files)
    later.clock.advance(50.0)
    later.answer = (304, b"", {})
    searches = count_calls(files, "find_file")
    again, _ = await later.keep()
    asked = {name: value for name, value in later.asked[0].items() if name.startswith("If-")}
    assert asked == {"If-None-Match": '"1"', "If-Modified-Since": "Tue, 15 Nov 1994 12:45:26 GMT"}
    assert len(searches) == 1, "what was known when it was asked is not looked up again"
    assert (again, later.puts) == (first, 0)
    assert {(file.job, file.last_seen) for file in await files.read_files()} == {
        ("shop-1", 1050.0),
        ("shop-2", 1050.0),
    }
    (tmp_path / "files" / later.names()[0]).unlink()
    later.answer = (200, b"%PDF-1", {})
    await later.keep()
    assert "If-None-Match" not in later.asked[1], "it is not there any more"
    assert len(later.names()) == 1, "though a row names it, it is put again"


@pytest.mark.parametrize(
    ("etag", "fields", "is_asked"),
    [
        ('"1"', {}, True),
        ('"1"', {"session": "bob"}, False),
        ('"1"', {"headers": {"authorization": "Basic x"}}, False),
        ('"日本"', {}, False),
        (f'"{"1" * 500}"', {}, False),
    ],
)
async def test_whether_it_has_changed_is_asked_where_everybody_gets_the_same(
    tmp_path, etag, fields, is_asked
):
    """Or one account gets the file of another, and a validator that cannot be sent ends every later try."""
    shelf = Shelf(tmp_path)
    shelf.answer = (200, b"%PDF-1", {"etag": etag})
    for _ in range(2):
        await shelf.keep(**fields)
    assert ["If-None-Match" in headers for headers in shelf.asked] == [False, is_asked]


async def test_pictures_are_kept_in_other_sizes_too_and_broken_ones_cost_nothing_else(tmp_path):
    shelf = Shelf(tmp_path, thumbnails=SIZES)
    good = [picture("JPEG"), picture("PNG", mode="RGBA"), picture("GIF", mode="P"), picture("WEBP")]
    bad = [picture("PNG")[:60], b"no picture", picture("PNG", (101, 100)), picture("EPS")]
    for number, body in enumerate((*good, *bad)):
        shelf.answer = (200, body, {"content-type": "image/any", "etag": "1"})
        _, dropped = await shelf.keep(f"{URL}/{number}")
        assert dropped == ({"file:broken_picture": 1} if body in bad else {}), number
    names = shelf.names()
    assert [len([name for name in names if name.startswith(f"thumbs/{size}/")]) for size in SIZES] == [4, 4]
    with Image.open(tmp_path / "files" / next(name for name in names if "small" in name)) as small:
        assert (small.size, small.format) == ((20, 15), "JPEG")
    shelf.asked.clear()
    shelf.answer = (304, b"", {})
    await shelf.keep(f"{URL}/0")
    bare = Shelf(tmp_path, files=shelf.files, thumbnails={"other": (5, 5)})
    bare.answer = (200, good[0], {"content-type": "image/jpeg"})
    await bare.keep(f"{URL}/0")
    assert ("If-None-Match" in shelf.asked[0], "If-None-Match" in bare.asked[0]) == (True, False)


async def test_a_sweep_deletes_what_nobody_names_and_nothing_else(tmp_path):
    shelf = Shelf(tmp_path, thumbnails=SIZES)
    shelf.answer = (200, picture("PNG"), {"content-type": "image/png"})
    await shelf.keep()
    kept = shelf.names()
    digest = hashlib.sha256(b"orphan").hexdigest()
    orphans = [f"{digest[:2]}/{digest}.pdf", f"thumbs/small/{digest[:2]}/{digest}.jpg"]
    for name in (*orphans, "mine/own.txt"):
        await shelf.blobs.put_bytes(name, b"orphan")
    half = tmp_path / "files" / "ab.pdf.0123abcd~"
    half.write_bytes(b"half")
    for path in (half, *(tmp_path / "files" / name for name in (*shelf.names(),))):
        os.utime(path, (500.0, 500.0))
    await shelf.blobs.put_bytes(orphans[1], b"put again just now")

    async def sweep(before, **options):
        found = await sweep_files(shelf.files, shelf.blobs, before, store="one", **options)
        return found.blobs, found.size_bytes, found.kept, found.young, found.unfinished

    assert await sweep(499.0) == (0, 0, 3, 2, 0), "all is too young"
    assert await sweep(501.0, is_dry=True) == (1, 6, 3, 1, 0)
    assert half.exists()
    assert await sweep(501.0) == (1, 6, 3, 1, 1)
    assert shelf.names() == sorted([*kept, orphans[1], "mine/own.txt"])
    await shelf.files.forget_files(2000.0)
    await sweep(float("inf"))
    assert shelf.names() == ["mine/own.txt"], "what no row names any longer is an orphan, too"


async def test_a_sweep_leaves_the_files_of_another_store_in_the_same_place(tmp_path):
    """Its rows are not ours to read: all of its files were taken for left over."""
    ours, theirs = Shelf(tmp_path), Shelf(tmp_path, store="postgresql://db/other")
    await ours.keep()
    await ours.blobs.put_bytes("stores/berlin.html", b"our shops")
    assert (await sweep_files(ours.files, ours.blobs, 0.0, store="one")).kept == 1, "it is somebody's own"
    theirs.answer = (200, b"%PDF-2", {})
    await theirs.keep()
    for shelf, other in ((ours, "postgresql://db/other"), (theirs, "one")):
        with pytest.raises(UsageError, match=rf"same place \({other}\).* delete stores/"):
            await sweep_files(shelf.files, shelf.blobs, float("inf"), store=shelf.keeper._store_name)
    assert len(ours.names()) == 2
    (gone,) = (path for path in (tmp_path / "files" / "stores").iterdir() if "other" in path.read_text())
    gone.unlink()
    assert (await sweep_files(ours.files, ours.blobs, float("inf"), store="one")).blobs == 1
