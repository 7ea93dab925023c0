"""Troubles: each kind has a severity and ways out, and the worst comes first."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from typer.core import TyperGroup

import gossamer
from gossamer.cli.app import build_app
from gossamer.policy.troubles import SEVERITIES, Severity, TroubleKind, make_trouble, order_troubles, ways_out

PLACES = Path(gossamer.__file__).parent / "web/static/places.js"


@pytest.mark.parametrize("is_over", [False, True])
def test_each_kind_has_a_severity_and_a_way_out(is_over: bool) -> None:
    assert set(SEVERITIES) == set(TroubleKind)
    for kind in TroubleKind:
        ways = ways_out(kind, "shops-7", "a.example", is_over=is_over)
        assert ways or (is_over and kind is TroubleKind.BUDGET), "a run that has ended spends no budget"
        assert all(way.text and (way.place or way.action or way.command) for way in ways)
        commands = [way.command.split()[1] for way in ways if way.command]
        assert not is_over or "pause" not in commands, "what has ended cannot be paused"
        is_loss = kind in (TroubleKind.DRIFT, TroubleKind.NO_ITEMS)
        assert ("accept" in commands) == (is_over and is_loss), "what runs cannot be accepted"


@pytest.mark.parametrize("kind", TroubleKind)
def test_each_way_out_is_a_command_that_exists_and_a_place_of_the_dashboard(kind: TroubleKind) -> None:
    """Bug it would catch: `gossamer hosts JOB`, which an alert named, was no command."""
    app = typer.main.get_command(build_app())
    places = set(re.findall(r'^  \["(/?[a-z/]*)", "', PLACES.read_text(), re.MULTILINE))
    assert {"/", "/workers", "", "/hosts"} <= places
    for way in ways_out(kind, "shops-7", "a.example:8080", is_alert=True):
        if way.command:
            _, *words = shlex.split(way.command)
            command, context = app, typer.Context(app)
            assert isinstance(command, TyperGroup)
            while isinstance(command, TyperGroup):
                name, command, words = command.resolve_command(context, words)
                context = typer.Context(command, info_name=name, parent=context)
            command.parse_args(context, words)  # raises for an option or an argument that it does not take
        if way.place:
            path = way.place.partition("?")[0].replace("/jobs/shops-7", "")
            assert path in places, way


def test_names_of_strangers_do_not_leave_their_place_in_a_command() -> None:
    (see,) = ways_out(TroubleKind.NO_SUCCESS, "shops-7", "a.example;reboot")
    assert shlex.split(see.command) == ["gossamer", "host", "shops-7", "a.example;reboot"]


def test_names_of_strangers_do_not_leave_their_place_in_an_address() -> None:
    (see, _) = ways_out(TroubleKind.HOST_FAILS, "shops-7", "a.example/?x&job=1#")
    assert see.place == "/jobs/shops-7/hosts?host=a.example%2F%3Fx%26job%3D1%23"


@given(st.lists(st.tuples(st.sampled_from(list(TroubleKind)), st.integers(0, 9))))
def test_the_worst_comes_first_and_of_equals_the_newest(found: list[tuple[TroubleKind, int]]) -> None:
    troubles = [
        make_trouble(kind, f"who {number}", "is ill.", since=since)
        for number, (kind, since) in enumerate(found)
    ]
    ordered = order_troubles(troubles)
    ranks = [(list(Severity).index(one.severity), -one.since) for one in ordered]
    assert ranks == sorted(ranks)
    assert sorted(one.who for one in ordered) == sorted(one.who for one in troubles)
    assert ordered == order_troubles(reversed(troubles))
