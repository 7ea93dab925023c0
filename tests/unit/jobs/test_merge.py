"""The items of jobs merged into a job of its own, however many there are."""

import msgspec
import pytest

from gossamer.core.errors import UsageError
from gossamer.core.lifecycle import FinishReason, JobState
from gossamer.core.results import ItemRecord
from gossamer.items.keys import content_hash
from gossamer.jobs import merge
from gossamer.jobs.merge import merge_jobs
from gossamer.jobs.merge_rules import read_rules
from gossamer.policy.merge import MergeKind, MergeRules
from gossamer.runtime import record_sorter
from gossamer.store.memory.jobs import MemoryJobStore
from gossamer.store.memory.store import MemoryStore
from gossamer.targets.custom_rule import CustomRule
from gossamer.testing.clock import ManualClock
from gossamer.testing.contracts.store_harness import make_visit_result


def record(kind, key, **data):
    encoded = msgspec.json.encode(data)
    return ItemRecord(
        type=kind, key=key, data=encoded, hash=content_hash(encoded), url=f"http://{key}.example/"
    )


@pytest.fixture
async def place():
    store, book = MemoryStore(), MemoryJobStore(ManualClock())
    return store, book, await book.create("a", "a"), await book.create("b", "b")


async def items_of(store, book, job):
    return {(item.type, item.key): item.data async for item in store.read_items(await book.get(job))}


@pytest.mark.parametrize("in_memory", [1, 1 << 20])
async def test_items_with_the_same_values_become_one(place, monkeypatch, in_memory):
    monkeypatch.setattr(record_sorter, "MEMORY_BYTES", in_memory)
    monkeypatch.setattr(merge, "BATCH", 2)
    store, book, a, b = place
    named = [record("P", f"a{n}", ean=n, name=f"n{n}") for n in range(5)]
    priced = [record("P", f"b{n}", ean=n, price=n) for n in range(3, 7)]
    await store.write(a, [make_visit_result(*named, at=1.0)])
    await store.write(b, [make_visit_result(*priced, at=2.0)])
    await store.write(b, [make_visit_result(record("P", "odd", price=9), at=2.0, number=2)])
    made = await merge_jobs(store, book, [a, b], MergeRules(by=("ean",)), into="both", now=10.0)
    assert (made.sources, made.items, made.merged, made.apart) == (10, 8, 2, 1)
    found = await items_of(store, book, made.job)
    assert found[("P", "3")].items() >= {"ean": 3, "name": "n3", "price": 3}.items()
    assert found[("P", "3")]["_provenance"]["name"]["job"] == a.id
    assert found[("P", f"{b.id} P odd")]["price"] == 9
    job = await book.get(made.job)
    assert (job.state, job.end_reason, job.target) == (
        JobState.FINISHED, FinishReason.FINISHED, f"merge:{a.id}+{b.id}",
    )  # fmt: skip
    assert "_provenance" not in (await items_of(store, book, a.id))[("P", "a3")]


async def test_a_field_that_no_item_has_merges_nothing(place):
    """A bug it would catch: a slip in --by makes a job of copies, and says that all is well."""
    store, book, a, b = place
    await store.write(a, [make_visit_result(record("P", "1", ean=1), at=1.0)])
    with pytest.raises(UsageError, match=r"no item has the fields of --by \(een\): nothing was merged"):
        await merge_jobs(store, book, [a, b], MergeRules(by=("een",)), into="both", now=10.0)
    assert [job.name for job in await book.list_jobs()] == ["b", "a"]


async def test_what_preferences_name_and_no_item_has_is_told(place):
    """A bug it would catch: a slip in --prefer changes nothing, and nobody hears of it."""
    store, book, a, b = place
    await store.write(a, [make_visit_result(record("P", "1", price=1), at=1.0)])
    prefer = {"price": (b.id, a.name, "elsewhere.example"), "prise": (a.id,), "*": ("1.example",)}
    made = await merge_jobs(store, book, [a, b], MergeRules(prefer=prefer), into="both", now=10.0)
    assert made.unmet == ("prise", b.id, "elsewhere.example")
    prefer = {"price": (a.id,)}
    made = await merge_jobs(store, book, [a, b], MergeRules(prefer=prefer), into="both", now=10.0)
    assert made.unmet == ()


async def test_without_fields_the_type_and_key_say_what_is_the_same(place):
    store, book, a, b = place
    await store.write(a, [make_visit_result(record("P", "x", name="n"), record("Q", "x", name="q"), at=1.0)])
    await store.write(b, [make_visit_result(record("P", "x", price=1), at=2.0)])
    made = await merge_jobs(store, book, [a, b], MergeRules(), into="both", now=10.0)
    assert (made.items, made.merged) == (2, 1)


async def test_what_would_overwrite_or_cannot_be_told_is_refused(place):
    store, book, a, b = place
    with pytest.raises(UsageError, match="would be overwritten"):
        await merge_jobs(store, book, [a, b], MergeRules(), into="b", now=10.0)
    await store.write(a, [make_visit_result(record("P@source", "x", sku="1"), at=1.0)])
    with pytest.raises(UsageError, match="say with --by"):
        await merge_jobs(store, book, [a], MergeRules(), into="c", now=10.0)
    assert [job.name for job in await book.list_jobs()] == ["b", "a"]


async def test_a_rule_that_fails_is_told_as_the_users_and_in_the_job(place):
    """It was called a mistake of Gossamer, and the job finished."""
    store, book, a, _ = place
    await store.write(a, [make_visit_result(record("P", "x", sku="1"), at=1.0)])
    for function, said in (
        (lambda items: 1 / 0, "ZeroDivisionError"),
        (lambda items: 7, "gave 7 and not"),
        (lambda items: {"x": object()}, "--rule.x: a object cannot be stored"),
        (lambda items: {"x": [float("nan")]}, "not a finite number"),
    ):
        rule = CustomRule("rules:broken", function)
        with pytest.raises(UsageError, match=f"--rule.*{said}"):
            await merge_jobs(store, book, [a], MergeRules(), into="c", now=10.0, custom=rule)
        job = await book.get("c")
        assert (job.state, job.end_reason) == (JobState.CANCELLED, FinishReason.ERROR)
        assert said in job.end_error


async def test_a_merge_that_is_killed_does_not_stay_unfinished(place):
    """Nobody continues it: the next one is another job."""
    store, book, a, _ = place
    await store.write(a, [make_visit_result(record("P", "x", sku="1"), at=1.0)])

    def killed(items):
        raise KeyboardInterrupt

    rule = CustomRule("rules:killed", killed)
    with pytest.raises(KeyboardInterrupt):
        await merge_jobs(store, book, [a], MergeRules(), into="c", now=10.0, custom=rule)
    job = await book.get("c")
    assert (job.state, job.end_reason) == (JobState.CANCELLED, FinishReason.INTERRUPTED)


async def test_what_is_merged_again_is_as_it_was_until_a_value_changes(place):
    """The times of the sources are in `_provenance`: each merge would have changed each item."""
    store, book, a, _ = place
    for night, price in ((1.0, 5), (2.0, 5), (3.0, 6)):
        await store.write(a, [make_visit_result(record("P", "x", price=price), at=night)])
        made = await merge_jobs(store, book, [a], MergeRules(), into="c", now=night)
    (item,) = [item async for item in store.read_items(await book.get(made.job))]
    (first,) = [item async for item in store.read_items(await book.get("c-2"))]
    assert (first.data["price"], first.changed_at) == (5, 1.0)
    assert (item.data["price"], item.changed_at, item.data["_provenance"]["price"]["at"]) == (
        6, 3.0, "1970-01-01T00:00:03Z",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("by", "rule", "prefer", "said"),
    [
        ("a,,b", "latest", [], "empty name"),
        ("", "newest", [], "there are latest, complete, and module:function"),
        ("", "json:nothing", [], "cannot be imported"),
        ("", "json:__name__", [], "is not a function"),
        ("", "latest", ["price"], "FIELD=HOST,JOB"),
        ("", "latest", ["price=a,"], "FIELD=HOST,JOB"),
    ],
)
def test_what_is_no_rule_is_refused(by, rule, prefer, said):
    with pytest.raises(UsageError, match=said):
        read_rules(by, rule, prefer)


def test_rules_are_read():
    rules, _ = read_rules("a, b", "complete", ["price=x.example,b-1"])
    assert (rules.by, rules.kind, rules.prefer) == (
        ("a", "b"),
        MergeKind.COMPLETE,
        {"price": ("x.example", "b-1")},
    )
    _, rule = read_rules("", "json:loads", [])
    assert rule.make_item('{"a":1}') == {"a": 1}
