"""The life of a request and of a job: their tables, and what is recorded with a job's moves."""

from __future__ import annotations

import pytest

from gossamer.core.errors import TransitionError
from gossamer.core.jobs import FrontierStats, Job, known_end
from gossamer.core.lifecycle import (
    JOB_TABLE,
    REQUEST_TABLE,
    FinishReason,
    JobCommand,
    JobState,
    RequestState,
    RequestTransition,
    next_job_state,
    next_state,
)


@pytest.mark.parametrize("state", [None, *RequestState])
@pytest.mark.parametrize("move", list(RequestTransition))
def test_a_move_of_a_request_is_in_the_table_or_illegal(state, move):
    if (state, move) in REQUEST_TABLE:
        assert next_state(state, move) is REQUEST_TABLE[state, move]
    else:
        with pytest.raises(TransitionError, match=str(move)):
            next_state(state, move)


def test_every_state_of_a_request_can_be_reached_and_left_done_only_by_taking_back_a_drop():
    assert set(REQUEST_TABLE.values()) == set(RequestState)
    assert {before for before, _ in REQUEST_TABLE} == {None, *RequestState}
    assert [move for before, move in REQUEST_TABLE if before is RequestState.DONE] == [RequestTransition.BURY]


@pytest.mark.parametrize("state", [None, *JobState])
@pytest.mark.parametrize("command", list(JobCommand))
def test_a_move_of_a_job_is_in_the_table_or_illegal(state, command):
    if (state, command) in JOB_TABLE:
        assert next_job_state(state, command) is JOB_TABLE[state, command]
    else:
        with pytest.raises(TransitionError, match=f"cannot take the command {command}"):
            next_job_state(state, command)


def test_every_state_of_a_job_can_be_reached_and_a_cancelled_one_is_never_left():
    assert set(JOB_TABLE.values()) == set(JobState)
    assert {to for (before, _), to in JOB_TABLE.items() if before is JobState.CANCELLED} == {
        JobState.CANCELLED
    }
    assert {command for _, command in JOB_TABLE} == set(JobCommand)


def test_a_command_that_was_cut_off_can_be_given_again():
    for (_, command), to in JOB_TABLE.items():
        if command is not JobCommand.CREATE:
            assert next_job_state(to, command) is to, command


def test_only_a_person_gives_a_job_up_and_no_end_overrides_what_a_person_said():
    leaving = {command for (state, command), to in JOB_TABLE.items() if to is JobState.CANCELLED is not state}
    assert leaving == {JobCommand.CANCEL}
    assert {state for state, command in JOB_TABLE if command is JobCommand.FINISH} == {
        JobState.RUNNING,
        JobState.FINISHED,
    }


def test_a_job_knows_what_is_recorded_of_it():
    job = Job(id="shop-1", name="shop", target="shop.py", created_at=0.0)
    assert (job.is_running, job.is_unfinished, job.is_fleet, job.end_text) == (True, True, False, "")
    assert Job(id="a", name="a", target="a", created_at=0.0, plan=b"{}").is_fleet
    assert FrontierStats(state=JobState.RUNNING, pending=1, leased=2).waiting == 3


def test_an_end_that_this_version_does_not_know_is_shown_as_an_error():
    assert known_end("", "") == (None, "")
    assert known_end("signal", "") == (FinishReason.SIGNAL, "")
    assert known_end("error", "no disk") == (FinishReason.ERROR, "no disk")
    assert known_end("error: no disk", "") == (FinishReason.ERROR, "no disk")
    assert known_end("abducted", "") == (FinishReason.ERROR, "abducted")
