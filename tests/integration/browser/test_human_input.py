"""Human input is human: no event reaches a page that a hand would not make, and chance is where it is."""

from __future__ import annotations

import json
import math
import re
from html import unescape
from itertools import pairwise
from statistics import mean, stdev
from typing import Any

import pytest

from gossamer.core.browsing import AnyAction, Browsing, Click, Press, Scroll, Type
from gossamer.core.requests import Request
from kit.browser_pages import answer, open_fetcher
from kit.raw_server import Raw

pytestmark = [pytest.mark.server]

TYPES = (
    "pointerdown pointerup pointermove pointercancel mousedown mouseup mousemove click dblclick auxclick "
    "contextmenu wheel scroll keydown keypress keyup beforeinput input change focusin focusout select "
    "compositionstart compositionend dragstart touchstart submit"
)
PAGE = """<!doctype html><style>body { margin: 0; height: 5000px } button { position: absolute; width: 120px;
height: 40px } input { position: absolute; left: 500px; top: 60px }</style><pre id=log></pre><script>
const log = [];
for (const type of "TYPES".split(" ")) addEventListener(type, event => {
    log.push({type, at: performance.now(), x: event.clientX, y: event.clientY, buttons: event.buttons,
        button: event.button, detail: event.detail, key: event.key, shift: event.shiftKey,
        control: event.ctrlKey, delta: event.deltaY, isTrusted: event.isTrusted, id: event.target.id,
        name: event.inputType});
    document.getElementById("log").textContent = JSON.stringify(log);
}, true);
</script><button id=near style="left:100px;top:200px">near</button>
<button id=far style="left:900px;top:650px">far</button>
<button id=below style="left:300px;top:2400px">below</button><input id=q value=old>
<label style="position:absolute;left:20px;top:400px"><input id=box type=checkbox style="position:static">
accept</label><div id=cover style="position:absolute;left:60px;top:480px;width:80px;height:40px"></div>
<button id=late style="left:40px;top:480px" onpointermove="">late</button>
<script>setTimeout(() => cover.remove(), 300)</script>""".replace("TYPES", TYPES)
ACTIONS: list[AnyAction] = [
    Click("#near"),
    Click("#far"),
    Type("#q", "Red Lamp?"),
    Press("Enter", "#q"),
    Click("#box"),
    Click("#late"),
    Scroll(),
    Click("#below"),
    Click("#near"),
]
CLICKED = ["near", "far", "q", "box", "late", "below", "near"]
Event = dict[str, Any]


async def record(kind: str) -> list[Event]:
    """All events of a page on which a hand has done those actions."""
    async with Raw({"/": answer(PAGE)}) as site, open_fetcher(kind=kind, timeout_s=60) as browser:
        page = await browser.fetch(Request(f"{site.url}/", browser=Browsing(actions=ACTIONS, human=True)))
    assert page.failure is None
    found = re.search('<pre id="log">(.*?)</pre>', page.body.decode())
    assert found is not None
    events: list[Event] = json.loads(unescape(found[1]))
    return events


def by_type(events: list[Event], *types: str) -> list[Event]:
    return [event for event in events if event["type"] in types]


def place_of(event: Event) -> tuple[float, float]:
    return event["x"], event["y"]


@pytest.mark.long
@pytest.mark.parametrize("kind", ["chromium", "firefox"])
async def test_a_page_that_records_every_event_sees_a_hand(kind: str) -> None:
    events = await record(kind)
    assert all(event["isTrusted"] for event in events)
    check_clicks(events)
    check_moves(events)
    check_keys(events)
    check_wheel(events)


def check_clicks(events: list[Event]) -> None:
    presses = by_type(events, "pointerdown", "mousedown", "pointerup", "mouseup", "click")
    order = ["pointerdown", "mousedown", "pointerup", "mouseup", "click"]
    groups, rest = [], list(presses)
    while rest:
        group, rest = rest[:5], rest[5:]
        assert [event["type"] for event in group] == order
        groups.append(group)
    assert [group[0]["id"] for group in groups] == CLICKED
    offsets = []
    for group in groups:
        assert len({place_of(event) for event in group}) == 1, "it is pressed where it is let go"
        assert [event["buttons"] for event in group[:4]] == [1, 1, 0, 0]
        assert {event["button"] for event in group} == {0}
        before = by_type(events[: events.index(group[0])], "pointermove")[-1]
        assert place_of(before) == place_of(group[0]), "the pointer was there"
        held = group[3]["at"] - group[1]["at"]
        assert 40 <= held < 1000
        assert group[0]["at"] - before["at"] >= 30, "a moment passes"
        offsets.append(group[0]["x"] - {"near": 160, "far": 960, "below": 360}.get(group[0]["id"], math.inf))
    inside = [offset for offset in offsets if math.isfinite(offset)]
    assert stdev(inside) > 1, "not always at the middle"
    assert all(abs(offset) <= 60 for offset in inside)


def check_moves(events: list[Event]) -> None:
    moves = by_type(events, "pointermove")
    assert len(moves) > 60
    assert all(float(event["x"]).is_integer() and float(event["y"]).is_integer() for event in moves)
    assert {event["buttons"] for event in moves} == {0}
    steps = [math.dist(place_of(one), place_of(other)) for one, other in pairwise(moves)]
    assert max(steps) < 250, "nothing jumps"
    assert moves[0]["y"] < 60, "it comes in over the edge"
    first = events.index(by_type(events, "mouseup")[0])
    second = events.index(by_type(events, "pointerdown")[1])
    sweep = [place_of(event) for event in by_type(events[first:second], "pointermove")]
    lengths = [math.dist(one, other) for one, other in pairwise(sweep)]
    third = len(lengths) // 3
    assert mean(lengths[third : 2 * third]) > 1.3 * mean(lengths[-third:]), "it brakes"
    (x, y), (end_x, end_y) = sweep[0], sweep[-1]
    way = math.dist(sweep[0], sweep[-1])
    aside = [abs((end_x - x) * (y - at_y) - (x - at_x) * (end_y - y)) / way for at_x, at_y in sweep]
    assert max(aside) > 1, "no hand draws a straight line"
    for one, other in pairwise(by_type(events, "pointermove", "mousemove")):
        assert one["type"] != other["type"], "each move is one of both kinds"


def check_keys(events: list[Event]) -> None:
    keys = by_type(events, "keydown", "keyup")
    held: dict[str, Event] = {}
    holds, downs = [], []
    for event in keys:
        key = event["key"].lower() if len(event["key"]) == 1 else event["key"]
        if event["type"] == "keydown":
            assert key not in held
            held[key] = event
            if len(event["key"]) == 1:
                assert event["shift"] == (event["key"] in "RL?"), "Shift is held for what needs it"
                downs.append(event)
        else:
            holds.append(event["at"] - held.pop(key)["at"])
    assert not held, "every key comes up"
    assert min(holds) >= 20
    assert stdev(holds) > 2
    typed = [event["key"] for event in downs if not event["control"]]
    assert "".join(typed) == "Red Lamp?"
    gaps = [later["at"] - earlier["at"] for earlier, later in pairwise(downs)]
    assert min(gaps) >= 50
    assert stdev(gaps) > 5
    last = ""
    for event in by_type(events, "keydown", "beforeinput", "mousedown"):
        if event["type"] == "beforeinput":
            assert last == "keydown", "nothing is written that no key has written"
        last = event["type"]
    fields = [event for event in by_type(events, "focusin") if event["id"] == "q"]
    assert len(fields) == 1, "the field had the focus when Enter was pressed"


def check_wheel(events: list[Event]) -> None:
    wheels = by_type(events, "wheel")
    assert len(wheels) >= 10
    assert {event["delta"] for event in wheels} == {120, -120}, "down to what is below, and up again"
    seen = False
    for event in events:
        seen = seen or event["type"] == "wheel"
        assert event["type"] != "scroll" or seen, "nothing scrolls but the wheel"
    moved = [event for event in events if event["type"] == "pointermove"]
    where = {place_of(event) for event in moved}
    assert all(place_of(event) in where for event in wheels), "it turns where the pointer is"
