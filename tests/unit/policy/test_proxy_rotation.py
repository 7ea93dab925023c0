"""Which proxy is next: evenly, by session, by use; never one in quarantine, if another may be used."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from gossamer.core.routes import Proxy
from gossamer.policy.proxies import UNKNOWN, ProxyOutcome, QuarantineRules, apply_outcome, wait_s_of
from gossamer.policy.proxy_rotation import ProxyRotation, RotationOrder, choose_candidate

NOW = 1000.0


def proxies(count, providers=1):
    return [
        Proxy(scheme="http", host=f"p{n}", port=1, provider=f"provider{n % providers}") for n in range(count)
    ]


def struck(outcome, host="a"):
    return apply_outcome(UNKNOWN, host, outcome, kind="", started_at=NOW, now=NOW, rules=QuarantineRules())


def choose(rotation, healths=None, *, session="", avoid=(), uses=None, host="a"):
    candidates = rotation.list_candidates(session, Counter() if uses is None else uses)
    choice = choose_candidate(candidates, lambda name: (healths or {}).get(name, UNKNOWN), host, NOW, avoid)
    if choice.proxy is not None:
        rotation.note_use(choice.proxy.name)
    return choice


def test_round_robin_is_even_and_passes_over_those_in_quarantine():
    rotation = ProxyRotation(proxies(4), RotationOrder.ROUND_ROBIN, start=5)
    taken = [choose(rotation).proxy.host for _ in range(8)]
    assert taken == ["p1", "p2", "p3", "p0"] * 2
    sick = {"http://p2:1": struck(ProxyOutcome.FAILED)}
    assert Counter(choose(rotation, sick).proxy.host for _ in range(9)) == {"p0": 3, "p1": 3, "p3": 3}


def test_least_used_evens_out():
    rotation = ProxyRotation(proxies(3), RotationOrder.LEAST_USED)
    uses = Counter({"http://p0:1": 5, "http://p1:1": 2, "http://p2:1": 4})
    for _ in range(10):
        uses[choose(rotation, uses=uses).proxy.name] += 1
    assert set(uses.values()) == {7}


@given(st.text(max_size=5), st.integers(1, 40))
def test_a_session_stays_with_its_proxy_and_workers_agree(session, count):
    one, other = (ProxyRotation(proxies(count), RotationOrder.STICKY, start=n) for n in (0, 3))
    assert choose(one, session=session) == choose(one, session=session) == choose(other, session=session)


def test_only_the_sessions_of_a_proxy_that_is_away_move():
    rotation = ProxyRotation(proxies(40), RotationOrder.STICKY)
    sessions = [f"s{n}" for n in range(200)]
    before = {session: choose(rotation, session=session).proxy.host for session in sessions}
    assert len(set(before.values())) > 30
    away = {f"http://p{n}:1": struck(ProxyOutcome.FAILED) for n in range(20)}
    now = {session: choose(rotation, away, session=session).proxy.host for session in sessions}
    gone = {f"p{n}" for n in range(20)}
    assert not gone & set(now.values())
    assert all(now[session] == host for session, host in before.items() if host not in gone)
    assert before == {session: choose(rotation, session=session).proxy.host for session in sessions}


def test_after_a_failure_another_provider_goes_first_then_another_proxy_then_the_same():
    rotation = ProxyRotation(proxies(4, providers=2), RotationOrder.ROUND_ROBIN)
    failed = ("http://p0:1",)
    assert choose(rotation, avoid=failed).proxy.provider == "provider1"
    others = {f"http://p{n}:1": struck(ProxyOutcome.FAILED) for n in (1, 3)}
    assert choose(rotation, others, avoid=failed).proxy.host == "p2"
    others["http://p2:1"] = struck(ProxyOutcome.FAILED)
    assert choose(rotation, others, avoid=failed).proxy.host == "p0"


@given(
    st.lists(st.sampled_from(["well", "failed", "blocked"]), min_size=1, max_size=12),
    st.sampled_from(RotationOrder),
    st.sets(st.integers(0, 11)),
)
def test_one_in_quarantine_is_never_chosen_and_none_only_when_all_are(states, order, avoided):
    every = proxies(len(states), providers=3)
    outcomes = {"failed": ProxyOutcome.FAILED, "blocked": ProxyOutcome.BLOCKED}
    healths = {
        proxy.name: struck(outcomes[state])
        for proxy, state in zip(every, states, strict=True)
        if state in outcomes
    }
    choice = choose(ProxyRotation(every, order), healths, avoid=[f"http://p{n}:1" for n in avoided])
    if choice.proxy is None:
        assert "well" not in states
        assert choice.wait_s == min(wait_s_of(healths[proxy.name], "a", NOW) for proxy in every)
    else:
        assert choice.proxy.name not in healths
    elsewhere = choose(ProxyRotation(every, order), healths, host="b")
    assert (elsewhere.proxy is None) == (set(states) == {"failed"})
