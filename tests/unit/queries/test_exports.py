"""Items of a job as files: which, under which names, and where."""

import json

import pytest

from gossamer.config.overrides import parse_time
from gossamer.config.settings import Settings
from gossamer.core.errors import UsageError
from gossamer.core.jobs import Job, StoredItem
from gossamer.export.fields import FieldChoice
from gossamer.export.names import check_placeholders, check_url, fill_name, safe_part, split_url
from gossamer.policy.item_filter import fits_filter
from gossamer.queries.exports import ExportPlan, ItemChoice, export_items, find_change_time
from gossamer.wiring.blobs import open_blobs

JOB = Job(id="shop-2", name="shop", target="shop", created_at=1_700_000_000.0)


def item(number, kind="Product", seen=0.0, changed=0.0, **data):
    return StoredItem(
        id=number, type=kind, key=str(number), data={"n": number, **data}, url="http://a.example/",
        first_seen=0.0, last_seen=seen, changed_at=changed,
    )  # fmt: skip


class Items:
    """A store that has items, and jobs."""

    def __init__(self, *items, jobs=(JOB,)):
        self.found = items
        self.store = self.items = self.book = self
        self.jobs = {job.id: job for job in jobs}

    async def read_items(self, job, which):
        for one in self.found:
            if fits_filter(one, which):
                yield one

    async def list_types(self, job, limit=None):
        return sorted({one.type for one in self.found} | {"OfAnotherJob"})

    async def get(self, name):
        return self.jobs.get(name)

    async def list_jobs(self):
        return list(self.jobs.values())


async def exported(folder, plan, *items, name="x.jsonl"):
    return await export_items(
        Items(*items),
        Settings(),
        JOB,
        ExportPlan(target=f"{folder}/{name}", format="jsonl", **plan),
        lambda n: None,
    )


def rows(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


async def test_only_items_that_fit_are_written(tmp_path):
    items = (item(1, seen=10.0, changed=10.0), item(2, seen=20.0, changed=10.0), item(3, "Offer", 20.0, 20.0))
    for choice, expected in (
        (ItemChoice(), [1, 2, 3]),
        (ItemChoice(type="Offer"), [3]),
        (ItemChoice(since=20.0), [2, 3]),
        (ItemChoice(until=20.0), [1]),
        (ItemChoice(changed_since=10.5), [3]),
        (ItemChoice(changed_since=10.0, since=15.0, type="Product"), [2]),
    ):
        result = await exported(tmp_path, {"choice": choice}, *items)
        assert [row["n"] for row in rows(tmp_path / "x.jsonl")] == expected, choice
        assert result.items == len(expected)


async def test_one_file_for_each_type_and_each_so_many_items(tmp_path):
    items = [item(number, "Product" if number % 2 else "Offer") for number in range(7)]
    result = await exported(tmp_path, {"split": 2}, *items, name="{spider}/{date}/{job}-{type}-{n}.jsonl")
    names = [file.name.removeprefix(f"{tmp_path}/") for file in result.files]
    assert names == [
        f"shop/2023-11-14/shop-2-{kind}-000{part}.jsonl" for kind in ("Offer", "Product") for part in (1, 2)
    ]
    assert [[row["n"] for row in rows(tmp_path / name)] for name in names] == [[0, 2], [4, 6], [1, 3], [5]]
    assert result.items == 7


async def test_no_part_of_an_export_before_stays_behind_the_last_one(tmp_path):
    """Whoever reads them all would have had items twice."""
    items = [item(number) for number in range(5)]
    await exported(tmp_path, {"split": 2}, *items, name="p-{n}.jsonl")
    (tmp_path / "p-0005.jsonl").write_text("of somebody else")
    result = await exported(tmp_path, {"split": 4}, *items, name="p-{n}.jsonl")
    assert result.removed == (f"{tmp_path}/p-0003.jsonl",)
    assert sorted(path.name[2:6] for path in tmp_path.iterdir()) == ["0001", "0002", "0005"]
    assert [row["n"] for n in (1, 2) for row in rows(tmp_path / f"p-000{n}.jsonl")] == [0, 1, 2, 3, 4]


async def test_without_items_there_is_no_file_of_a_type_and_one_without_types(tmp_path):
    assert (await exported(tmp_path, {}, name="{type}.jsonl")).files == ()
    assert len((await exported(tmp_path, {})).files) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["x.jsonl"]


async def test_two_types_never_take_one_file(tmp_path):
    with pytest.raises(UsageError, match="two types of items would be one file"):
        await exported(tmp_path, {}, item(1, "a/b"), item(2, "a_b"), name="{type}.jsonl")
    assert list(tmp_path.iterdir()) == []


async def test_fields_in_their_order_and_those_that_no_item_has(tmp_path):
    fields = FieldChoice.from_text("_type,price.amount,n,_url,images.1,typo,-price")
    data = {"price": {"amount": "1.5", "raw": "$"}, "images": ["a", "b"]}
    result = await exported(tmp_path, {"fields": fields}, item(1, **data))
    (row,) = rows(tmp_path / "x.jsonl")
    assert list(row.items()) == [
        ("_type", "Product"), ("price.amount", "1.5"), ("n", 1),
        ("_url", "http://a.example/"), ("images.1", "b"),
    ]  # fmt: skip
    assert result.missing == ("typo",)


async def test_fields_that_no_item_has_leave_the_file_as_it_was(tmp_path):
    """A bug it would catch: a slip in --fields replaces a file by one of empty rows."""
    path = tmp_path / "items.csv"
    path.write_text("yesterday")

    def plan():
        return ExportPlan(target=str(path), format="csv", fields=FieldChoice(["prise", "nam"]))

    with pytest.raises(UsageError, match=r"--fields asks for \(prise, nam\): nothing was written"):
        await export_items(Items(item(1)), Settings(), JOB, plan(), lambda n: None)
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("items.csv", "yesterday")]
    empty = await export_items(Items(), Settings(), JOB, plan(), lambda n: None)
    assert empty.items == 0


async def test_a_type_that_no_item_ever_had_leaves_the_file_as_it_was(tmp_path):
    """A bug it would catch: a slip in --type replaces a file by an empty one."""
    path = tmp_path / "x.jsonl"
    path.write_text("yesterday")
    with pytest.raises(UsageError, match=r"'Prodct' that --type asks for; there are: OfAnotherJob, Product$"):
        await exported(tmp_path, {"choice": ItemChoice(type="Prodct")}, item(1))
    assert path.read_text() == "yesterday"
    result = await exported(tmp_path, {"choice": ItemChoice(type="OfAnotherJob")}, item(1))
    assert (result.items, path.read_text()) == (0, "")


def test_fields_to_leave_out():
    whole = item(1, a={"b": 1, "c": {"d": 2}}, **{"a.b": 3})
    assert FieldChoice.from_text("-a.c.d,-n,-gone").pick(whole) == {"a": {"b": 1, "c": {}}, "a.b": 3}
    assert FieldChoice.from_text("-a.b").pick(whole) == {"n": 1, "a": {"b": 1, "c": {"d": 2}}}
    assert whole.data["a"] == {"b": 1, "c": {"d": 2}}
    for wrong in ("", "a,,b", "-", "a,-a"):
        with pytest.raises(UsageError):
            FieldChoice.from_text(wrong)


async def test_what_a_format_cannot_hold_is_counted_and_named(tmp_path):
    plan = ExportPlan(target=f"{tmp_path}/x.xlsx", format="excel")
    items = [item(number, t="x" * 40_000) for number in range(1, 8)]
    result = await export_items(Items(*items, item(8)), Settings(), JOB, plan, lambda n: None)
    assert (result.items, result.refused, len(result.refusals)) == (1, 7, 5)
    assert "Product '1': its field 't' has 40,000 characters" in result.refusals[0]


async def test_who_waits_is_told(tmp_path):
    told = []
    plan = ExportPlan(target=f"{tmp_path}/x.jsonl", format="jsonl")
    await export_items(Items(item(1), item(2)), Settings(), JOB, plan, told.append)
    assert told == [1, 2]


async def test_a_bucket_has_the_whole_file_or_nothing(s3_url):
    async def failing():
        yield item(1)
        raise RuntimeError("the store broke")

    plan = ExportPlan(target=f"{s3_url}/exports/{{job}}.csv.gz", format="csv", compression="gzip")
    broken = Items()
    broken.read_items = lambda job, which: failing()
    blobs = open_blobs(s3_url, Settings())
    with pytest.raises(RuntimeError):
        await export_items(broken, Settings(), JOB, plan, lambda n: None)
    assert [blob async for blob in blobs.list_blobs("")] == []
    result = await export_items(Items(item(1)), Settings(), JOB, plan, lambda n: None)
    assert [file.name for file in result.files] == [f"{s3_url}/exports/shop-2.csv.gz"]
    assert [blob.name async for blob in blobs.list_blobs("")] == ["exports/shop-2.csv.gz"]
    assert (await blobs.read_range("exports/shop-2.csv.gz"))[:2] == b"\x1f\x8b"
    await blobs.close()


@pytest.mark.parametrize("url", ["s3://b", "s3://b/", "s3://b/a b", "s3://b/x/", "s3:///x"])
def test_urls_that_name_no_file_of_a_bucket(url):
    with pytest.raises(UsageError, match="write it as s3://BUCKET/FOLDER/NAME"):
        split_url(url)


@pytest.mark.parametrize(
    "url", ["s3://b/{job} {n}.csv", "s3://b/{job}/", "s3://{spider}", "s3://b/{{x}}.csv"]
)
def test_placeholders_do_not_excuse_a_url_that_names_no_file(url):
    with pytest.raises(UsageError, match="write it as s3://BUCKET/FOLDER/NAME"):
        check_url(url)


@pytest.mark.parametrize(
    ("url", "fixed"),
    [
        ("s3://b/x.csv", "s3://b"),
        ("s3://b/a/{job}.csv", "s3://b/a"),
        ("s3://b/a-{date}/{type}/{n}.csv", "s3://b"),
        ("s3://b{spider}/x.csv", ""),
    ],
)
def test_the_part_of_a_place_that_is_known_before_the_crawl(url, fixed):
    assert check_url(url) == fixed


@pytest.mark.parametrize(
    ("value", "part"),
    [
        ("../../etc", "_.._etc"),
        ("a/b\\c", "a_b_c"),
        ("...", "_"),
        ("", "_"),
        ("ä\0\n", "ä_"),
        ("Товар" * 20, "Товар" * 8),
        ("x" * 300, "x" * 80),
    ],
)
def test_a_value_in_a_name_leads_nowhere_else(value, part):
    assert safe_part(value) == part
    assert fill_name("a/{spider}.{{x}}", {"spider": value}) == f"a/{part}.{{x}}"


@pytest.mark.parametrize(
    ("name", "split", "why"),
    [("{jop}.csv", 0, "unknown placeholder {jop}"), ("{n}.csv", 0, "--split"), ("x.csv", 3, "put {n}")],
)
def test_names_that_do_not_fit(name, split, why):
    with pytest.raises(UsageError, match=why):
        check_placeholders(name, split)


async def test_changed_since_means_a_time_or_the_end_of_a_job():
    ended = Job(id="shop-1", name="shop", target="shop", created_at=5.0, finished_at=9.0)
    keeping = Items(jobs=(ended, JOB))
    assert await find_change_time(keeping, "shop-1", 100.0) == 9.0
    assert await find_change_time(keeping, "30s", 100.0) == 70.0
    for text, why in (("shop-2", "has not ended"), ("shoe", "no job has that name either")):
        with pytest.raises(UsageError, match=why):
            await find_change_time(keeping, text, 100.0)


def test_times():
    assert parse_time("1970-01-01T01:00Z", "--since", 0.0) == 3600.0
    assert parse_time("1970-01-01T01:00:00.5+01:00", "--since", 0.0) == 0.5
    assert parse_time("1h30m", "--since", 10_000.0) == 4600.0
    with pytest.raises(UsageError, match="--since 'yesterday' is not a time"):
        parse_time("yesterday", "--since", 0.0)
