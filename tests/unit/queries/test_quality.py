"""The report of quality as the dashboard gets it: bounded, and what is worse first."""

from gossamer.core.drops import DropSample
from gossamer.observe.text import json_line
from gossamer.policy.drift import FindingKind
from gossamer.queries.documents import to_answer
from gossamer.queries.drops import DroppedItem, DropReport, describe_sample
from gossamer.queries.quality import FieldReport, FindingReport, QualityReport, cut_quality

LONG = "x" * 5000


def make_field(name):
    return FieldReport(
        type="Product", field=name, items=9, filled=9, fill=1.0, usual_fill=None, kind="text", wrong=0,
        dropped=0, errors=0.0, distinct=9, least=None, most=None, shortest=1, longest=2,
    )  # fmt: skip


def test_a_report_that_is_cut_is_small_and_keeps_what_is_worse():
    """Two hundred fields in a type are allowed; what has become worse may be the last of them."""
    finding = FindingReport(
        kind=FindingKind.FILL, field="Product.f199", usual=1.0, now=0.0, text="It is gone."
    )
    sample = DroppedItem(
        reason="r", stage="", type="Product", url="http://a/1", at=1.0, value="1", data={"text": LONG}
    )
    report = QualityReport(
        job="shop-1", at=1.0, say=("", ""), pages=9, items=9, sampled=9, dropped=20, score=1.0, jobs=(),
        fields=tuple(make_field(f"f{number}") for number in range(200)), worst=(), findings=(finding,),
        drops=tuple(DropReport(reason=f"r{number}", items=1, sample=sample) for number in range(20)),
    )  # fmt: skip
    cut = cut_quality(report)
    assert len(json_line(to_answer(cut))) < 50_000
    assert cut.fields[0].field == "f199"
    assert len(cut.fields) + cut.more_fields == 200
    assert len(cut.drops) == 20


def test_of_a_dropped_item_the_value_is_shown_that_the_reason_names():
    made = DropSample(reason="Product.price: not a number", type="Product", url="", at=1.0, data=b"")
    for reason, data, shown in (
        ("Product.price: not a number", b'{"sku":"a","price":"free"}', '"free"'),
        ("Product.price: missing", b'{"sku":"a"}', "null"),
        ("too dear", b'{"sku":"a"}', '{"sku":"a"}'),
        ("too dear", b'{"sku":', ""),
    ):
        assert describe_sample(DropSample(reason=reason, type="", url="", at=1.0, data=data)).value == shown
    assert describe_sample(made).data == {}
