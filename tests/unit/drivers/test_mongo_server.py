"""What people are told of a MongoDB that cannot be used, and what is waited for."""

import gc

import pytest

from gossamer.core.errors import StorageError, UsageError
from gossamer.drivers.mongodb.errors import codes_of, is_passing, translate_error
from gossamer.drivers.mongodb.packages import driver
from gossamer.drivers.mongodb.server import MongoServer
from kit.server_process import free_port
from kit.servers import MongoProcess

PLACE = "mongodb://db.example/crawls"


def server_at(url, **options):
    return MongoServer(url, indexes={"job": [["name", "-seq"]]}, **options)


@pytest.mark.parametrize(
    "url",
    [
        "mongo:/x",
        "mongodb://",
        "mongodb://ann:s3/cret@db.example/x",
        "mongodb://ann:s3cret@db.example:99999/x",
        "mongodb://ann:s3@cret@db.example/x",
        "mongodb://ann:s3cret@db.example/x?w=s3cret&w",
    ],
)
def test_what_is_no_url_is_refused_without_its_password(url):
    with pytest.raises(UsageError, match=r"is not a MongoDB URL.*write mongodb://USER:PASSWORD") as refused:
        server_at(url)
    assert "s3" not in str(refused.value)
    assert "cret" not in str(refused.value)


@pytest.mark.parametrize(
    ("error", "words", "passes"),
    [
        (driver.ServerSelectionTimeoutError("ann:s3cret"), "cannot be reached; is it running", True),
        (driver.NetworkTimeout("x"), "no answer in time", True),
        (ConnectionResetError("x"), "cannot be reached", True),
        (
            driver.OperationFailure("s3cret", 18, {"codeName": "AuthenticationFailed"}),
            "wrong user name",
            False,
        ),
        (driver.OperationFailure("s3cret", 13), "lacks the rights", False),
        (driver.OperationFailure("s3cret", 91), "shutting down", True),
        (driver.OperationFailure("s3cret", 4711), r"it refused a command \(code 4711\)", False),
        (
            driver.BulkWriteError({"writeErrors": [{"code": 14031, "errmsg": "s3cret"}]}),
            "disk is full",
            False,
        ),
        (driver.BulkWriteError({"writeErrors": [{"code": 11000, "errmsg": "s3cret"}]}), "code 11000", True),
        (driver.ConfigurationError("no such mongodb://ann:s3cret@h/"), r"no such mongodb://\*\*\*@h/", False),
        (driver.InvalidOperation("s3cret"), "InvalidOperation", False),
    ],
)
def test_errors_say_what_to_do_and_show_no_values(error, words, passes):
    found = translate_error(error, PLACE)
    assert str(found).startswith(f"MongoDB at {PLACE}: ")
    with pytest.raises(StorageError, match=words):
        raise found
    assert "s3cret" not in str(found)
    assert is_passing(error) is passes


async def test_a_server_that_is_not_there_is_named():
    server = server_at(f"mongodb://ann:s3cret@127.0.0.1:{free_port()}/x", timeout_s=0.2)
    with pytest.raises(StorageError, match=r"MongoDB at mongodb://127.0.0.1:\d+/x: cannot be reached"):
        await server.prepare_database()
    await server.close()
    await server.close()


# PyMongo forgets the socket of a connection that is cancelled while it is being made, as its monitors' are
@pytest.mark.filterwarnings("ignore:(?s).*unclosed <socket:pytest.PytestUnraisableExceptionWarning")
async def test_a_restart_is_waited_for_and_told_once(caplog):
    with MongoProcess() as process:
        server = server_at(process.url_of("x"))
        await server.prepare_database()
        process.kill()
        tries = []

        async def work(db):
            tries.append(len(tries))
            if len(tries) == 2:
                process.start()
            return await db["job"].insert_one({"_id": "a"})

        await server.run(work)
        assert len(tries) >= 2
        assert await server.run(lambda db: db["job"].find_one()) == {"_id": "a"}
        await server.close()
    told = [record.getMessage() for record in caplog.records]
    assert [line.partition(";")[0].split()[-1] for line in told] == ["reached", "s"], told
    assert "is back after" in told[1]
    gc.collect()  # here, where it is forgiven, and not in some later test


async def test_a_command_that_is_refused_is_not_tried_again(mongo_url):
    server, tries = server_at(mongo_url), []

    async def work(db):
        tries.append(1)
        await db["job"].update_one({}, {"$rename": {"a": "b"}}, upsert=True)

    with pytest.raises(StorageError, match="it refused a command") as refused:
        await server.run(work)
    await server.close()
    assert len(tries) == 1
    assert codes_of(refused.value.__cause__)
