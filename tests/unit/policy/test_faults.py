"""The table of faults: no fault without a row, and nothing decided by omission."""

import importlib.util
from enum import StrEnum

import pytest

from gossamer.core import errors
from gossamer.core.errors import Fault
from gossamer.core.hosts import HostSignalKind
from gossamer.policy import faults
from gossamer.policy.faults import FAULTS, FaultKind

KINDS = {
    FaultKind.SETTLED: {
        Fault.GONE, Fault.ROBOTS, Fault.OUT_OF_SCOPE, Fault.BUDGET, Fault.UNWANTED, Fault.TRAP,
        Fault.IGNORED,
    },
    FaultKind.THROTTLED: {Fault.THROTTLED},
    FaultKind.MACHINE: {Fault.LOCAL, Fault.PROXY, Fault.PROXY_ANSWER, Fault.BROWSER, Fault.SERVICE},
    FaultKind.UNANSWERED: {
        Fault.DNS_TEMPORARY, Fault.CONNECT, Fault.TIMEOUT_CONNECT, Fault.TIMEOUT_HEADERS,
        Fault.ROBOTS_UNREACHABLE,
    },
    FaultKind.NAMELESS: {Fault.DNS},
    FaultKind.OVERLOAD: {Fault.GATEWAY},
    FaultKind.TRANSIENT: {
        Fault.TIMEOUT_BODY, Fault.INCOMPLETE, Fault.PROTOCOL, Fault.SERVER, Fault.MISSING,
        Fault.LOGGED_OUT, Fault.PAGE_CRASH, Fault.SERVICE_FAILED,
        Fault.PARSE_INTERRUPTED, Fault.HOOK,
    },
    FaultKind.STEP: {Fault.PIPELINE},
    FaultKind.LOST_WORKER: {Fault.EXPIRED},
    FaultKind.HOPELESS: {
        Fault.TLS, Fault.TOO_LARGE, Fault.BAD_ENCODING, Fault.BAD_REDIRECT, Fault.REDIRECT_LIMIT, Fault.GUARD,
        Fault.BAD_URL, Fault.NOT_ARCHIVED, Fault.CLIENT, Fault.HOST_DOWN, Fault.HOST_LOST, Fault.CALLBACK,
        Fault.BLOCKED,
        Fault.CALLBACK_TIMEOUT, Fault.PARSE_TIMEOUT, Fault.UNREADABLE, Fault.INTERNAL,
    },
}  # fmt: skip
SIGNALS = {
    HostSignalKind.UNREACHABLE: {
        Fault.DNS, Fault.DNS_TEMPORARY, Fault.CONNECT, Fault.TIMEOUT_CONNECT, Fault.TIMEOUT_HEADERS,
    },
    HostSignalKind.THROTTLED: {Fault.THROTTLED, Fault.GATEWAY},
    HostSignalKind.FAULT: {
        Fault.TLS, Fault.TIMEOUT_BODY, Fault.INCOMPLETE, Fault.PROTOCOL, Fault.TOO_LARGE, Fault.BAD_ENCODING,
        Fault.BAD_REDIRECT, Fault.REDIRECT_LIMIT, Fault.SERVER, Fault.CLIENT, Fault.GONE, Fault.MISSING,
        Fault.BLOCKED, Fault.LOGGED_OUT,
        Fault.INTERNAL,
    },
    HostSignalKind.UNUSED: {
        Fault.LOCAL, Fault.PROXY, Fault.PROXY_ANSWER, Fault.BROWSER, Fault.PAGE_CRASH,
        Fault.SERVICE, Fault.SERVICE_FAILED, Fault.BUDGET, Fault.TRAP, Fault.UNWANTED,
        Fault.IGNORED, Fault.HOOK,
        Fault.GUARD, Fault.BAD_URL, Fault.NOT_ARCHIVED, Fault.ROBOTS, Fault.ROBOTS_UNREACHABLE,
        Fault.HOST_DOWN, Fault.HOST_LOST, Fault.OUT_OF_SCOPE, Fault.CALLBACK, Fault.CALLBACK_TIMEOUT,
        Fault.PIPELINE, Fault.PARSE_TIMEOUT, Fault.PARSE_INTERRUPTED, Fault.UNREADABLE, Fault.EXPIRED,
    },
}  # fmt: skip


def test_the_table_says_what_is_meant():
    assert {fault: row.kind for fault, row in FAULTS.items()} == {
        f: k for k, some in KINDS.items() for f in some
    }
    assert {f: row.signal for f, row in FAULTS.items()} == {f: s for s, some in SIGNALS.items() for f in some}
    assert set(KINDS) == set(FaultKind), "a kind that no fault has is not needed"
    assert list(FAULTS) == list(Fault), "in the order in which they are declared"


def test_a_fault_without_a_row_stops_the_import(monkeypatch):
    extended = StrEnum("Fault", [*((one.name, one.value) for one in Fault), ("SUNSPOTS", "sunspots")])
    monkeypatch.setattr(errors, "Fault", extended)
    spec = importlib.util.spec_from_file_location("faults_of_tomorrow", faults.__file__)
    with pytest.raises(LookupError, match=r"without a row in gossamer\.policy\.faults: SUNSPOTS"):
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


@pytest.mark.parametrize("fault", Fault)
def test_every_fault_has_words_for_people(fault):
    words = FAULTS[fault].words
    assert words == words.strip(" .")
    assert words != fault.value
    assert "\n" not in words
