"""Every blob store keeps every promise of the contract."""

from contextlib import asynccontextmanager

import pytest

from gossamer.blobs import folder
from gossamer.blobs.folder import FolderBlobStore
from gossamer.config.settings import Settings
from gossamer.core.errors import BlobMissingError, MissingServiceError, SettingError, StorageError
from gossamer.testing.contracts.blob_store import BLOB_STORE_CHECKS, check_blob_store
from gossamer.wiring.blobs import open_blobs
from kit.servers import on_servers


@pytest.fixture
def make(request, tmp_path):
    """Makes a store of the kind that a test is run for."""
    numbers = iter(range(99))

    @asynccontextmanager
    async def make_store(clock):
        url = request.getfixturevalue("s3_url") if request.param == "s3" else str(tmp_path)
        store = open_blobs(f"{url}/{next(numbers)}", Settings())
        yield store
        await store.close()

    return make_store


@pytest.mark.parametrize("name", BLOB_STORE_CHECKS)
@pytest.mark.parametrize("make", ["folder", *on_servers("s3")], indirect=True)
async def test_contract(make, name):
    await BLOB_STORE_CHECKS[name](make)


@pytest.mark.parametrize("make", ["folder"], indirect=True)
async def test_the_suite_runs_every_check(make):
    await check_blob_store(make)
    assert len(BLOB_STORE_CHECKS) >= 9


async def test_the_suite_catches_a_store_that_writes_in_place(tmp_path):
    class Careless(FolderBlobStore):
        def _write(self, path, fill):
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("ab") as file:
                fill(file)

    @asynccontextmanager
    async def careless(clock):
        yield Careless(tmp_path)

    with pytest.raises(AssertionError, match="as put last"):
        await BLOB_STORE_CHECKS["what_is_put_is_read"](careless)


async def test_a_write_that_breaks_off_leaves_what_was_there(tmp_path):
    """A full disk in the middle of a file, or a kill, must not leave half a blob under its name."""
    store = FolderBlobStore(tmp_path / "blobs")
    await store.put_bytes("a/one", b"whole")
    with pytest.raises(StorageError, match="nowhere"):
        await store.put_file("a/one", tmp_path / "nowhere")
    (tmp_path / "blobs/a/one.00000000~").write_bytes(b"of a process that was killed")
    assert await store.read_range("a/one") == b"whole"
    assert [info.name async for info in store.list_blobs("")] == ["a/one"]
    assert sorted(path.name for path in (tmp_path / "blobs/a").iterdir()) == ["one", "one.00000000~"]


async def test_a_file_that_gets_its_name_while_it_is_listed_is_in_the_listing(tmp_path, monkeypatch):
    store = FolderBlobStore(tmp_path)
    await store.put_bytes("a/one.open", b"1")
    look = folder._info_of

    def rename_first(path, name):
        if path.exists() and path.suffix == ".open":
            path.replace(path.with_suffix(""))  # between its name and its size
        return look(path, name)

    monkeypatch.setattr(folder, "_info_of", rename_first)
    assert [info.name async for info in store.list_blobs("")] == ["a/one"]


async def test_a_link_does_not_lead_out_of_the_folder(tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").write_bytes(b"secret")
    (tmp_path / "blobs").mkdir()
    (tmp_path / "blobs/link").symlink_to(tmp_path / "outside")
    store = FolderBlobStore(tmp_path / "blobs")
    for act in (
        store.read_range("link/secret"),
        store.put_bytes("link/x", b""),
        store.delete_blob("link/secret"),
    ):
        with pytest.raises(StorageError, match="leads out of"):
            await act
    assert (tmp_path / "outside/secret").read_bytes() == b"secret"


async def test_a_disk_that_cannot_be_written_is_storage_trouble(tmp_path):
    (tmp_path / "blobs").write_text("a file where the folder should be")
    with pytest.raises(StorageError, match="blobs"):
        await FolderBlobStore(tmp_path / "blobs").put_bytes("a/b", b"1")


async def test_a_bucket_that_is_not_there_is_named(s3_url):
    store = open_blobs("s3://no-such-bucket/x", Settings())
    listing = store.list_blobs("a/")
    for act in (store.put_bytes("a", b"1"), store.read_range("a"), anext(listing)):
        with pytest.raises(StorageError, match="s3://no-such-bucket/x: there is no such bucket") as raised:
            await act
        assert not isinstance(raised.value, BlobMissingError)


async def test_where_buckets_are_is_set(s3_server, s3_url, monkeypatch):
    """The settings count more than the environment, where another program's service may be named."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.delenv("AWS_ALLOW_HTTP")
    monkeypatch.delenv("AWS_REGION")
    said = {"endpoint": s3_server.url, "allow_http": True, "region": "eu-central-1"}
    store = open_blobs(s3_url, Settings.model_validate({"s3": said}))
    await store.put_bytes("a", b"1")
    assert await store.read_range("a") == b"1"


async def test_a_service_that_does_not_answer_is_named_after_some_tries(s3_url, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(StorageError, match=r"s3://.*cannot be reached.*s3\.endpoint"):
        await open_blobs(s3_url, Settings()).put_bytes("a", b"1")


@pytest.mark.parametrize(
    "url", ["", "http://x.example/", "file://host/dir", "s3:///x", "s3://user:pass@bucket", "ftp://x"]
)
def test_another_url_is_refused(url):
    with pytest.raises(SettingError, match="s3://BUCKET/PREFIX") as raised:
        open_blobs(url, Settings())
    assert "pass" not in str(raised.value)


def test_a_bucket_without_keys_is_refused_before_anybody_is_asked(monkeypatch):
    monkeypatch.delenv("AWS_ACCESS_KEY_ID", raising=False)
    with pytest.raises(MissingServiceError, match="AWS_ACCESS_KEY_ID"):
        open_blobs("s3://bucket/x", Settings())


def test_a_file_url_is_a_folder(tmp_path):
    assert repr(open_blobs(f"file://{tmp_path}/a%20b", Settings())) == f"FolderBlobStore('{tmp_path}/a b')"
