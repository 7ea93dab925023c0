"""The politeness of the Lua scripts is that of the policy, to the last bit."""

import random

import msgspec

from gossamer.core.hosts import (
    FrontierRules,
    HostCommand,
    HostOrder,
    HostSignal,
    HostSignalKind,
    HostState,
)
from gossamer.drivers.redis.server import LuaScript, load_script
from gossamer.policy import page_failures, politeness, steering
from gossamer.policy.retry import backoff_s

DRIVER = """
local now, case = tonumber(ARGV[1]), cmsgpack.unpack(ARGV[2])
local rules, signal, h = case.rules, case.signal, case.host
local answers = {}
local function tell()
  for _, name in ipairs({'next_at', 'delay_s', 'crawl_delay_s', 'incident_at', 'last_at', 'hold_until',
      'in_flight', 'incidents', 'silences', 'pages', 'answered_at', 'troubled_since', 'troubled_by', 'pace_s',
      'limit_s', 'is_paced', 'is_held', 'is_skipped',
      'waiting_since', 'is_free', 'failed_in_row', 'blamed'}) do
    local value = h[name]
    if value == true then value = 1 elseif not value then value = -1 end
    answers[#answers + 1] = string.format('%.17g', value)
  end
end
answers[1] = string.format('%.17g', start_by(h, rules, now))
answers[2] = (is_down(h, rules) and 'down' or 'up') .. (has_room(h, rules) and ' room' or ' full')
answers[3] = string.format('%.17g', backoff_s(case.nth, rules, case.jitter))
answers[4] = string.format('%.17g', delay_in_force(h, rules))
answers[5] = string.format('%.17g', next_pause_s(h, rules))
answers[6] = startable(h, rules, case.waiting, now)
answers[7] = string.format('%.17g', ready_since(h))
for i, tries in ipairs({0, 2}) do answers[7 + i] = asks_known(h, tries) and '1' or '0' end
grant(h, rules, now, case.draw)
tell()
settle_host(h, rules, signal, now, case.is_page, case.jitter, case.mark, case.failed)
tell()
lost(h)
tell()
forgive(h)
tell()
begin_waiting(h, now)
tell()
move_turn(h, rules, now)
tell()
steer(h, case.command, case.value, rules, now)
tell()
return answers
"""


def drawn(rng):
    """A host with a past, rules, and what a worker says of it; all near the edges."""
    now = 1.7e9 + rng.random() * 1000

    def moment():
        return rng.choice([0.0, now, now - rng.random() * 9, now + rng.random() * 9])

    rules = FrontierRules(
        delay_s=rng.choice([None, None, 0.0, 0.3, rng.random() * 5]),
        min_delay_s=rng.choice([0.0, 0.1]),
        initial_delay_s=rng.choice([0.2, 3.0]),
        per_host=rng.choice([1, 2, 8]),
        max_pages_per_host=rng.choice([None, 3]),
        max_silences=rng.choice([1, 3]),
        host_patience_s=rng.choice([0.0, 4.0, 21_600.0]),
        backoff_cap_s=rng.choice([5.0, 300.0]),
        random_delay=rng.random() < 0.3,
    )
    host = HostState(
        next_at=moment(),
        delay_s=rng.choice([0.0, rng.random() * 40]),
        in_flight=rng.randrange(4),
        crawl_delay_s=rng.choice([None, 0.0, rng.random() * 9]),
        incidents=rng.choice([0, 0, 1, 1, 2, 70]),
        silences=rng.randrange(4),
        incident_at=moment(),
        pages=rng.randrange(5),
        last_at=moment(),
        hold_until=moment(),
        answered_at=moment(),
        troubled_since=rng.choice([0.0, moment(), now - 900.0]),
        troubled_by=rng.choice([0, 1, 7, 8]),
        pace_s=rng.choice([0.0, 0.0011, rng.random() * 9]),
        limit_s=rng.choice([0.001, 0.5, rng.random() * 9]),
        is_paced=rng.random() < 0.2,
        is_held=rng.random() < 0.2,
        is_skipped=rng.random() < 0.1,
        waiting_since=moment(),
        is_free=rng.random() < 0.2,
        taken=rng.choice([0, 0, 1, 3]),
        look_at=rng.choice([0.0, 0.0, moment()]),
        own_delay_s=rng.choice([None, None, 0.0, 1.5]),
        own_slots=rng.choice([None, None, 1, 4]),
        failed_in_row=rng.choice([0, 0, 1, page_failures.MOST_IN_ROW]),
        blamed=rng.choice([0, -19, -3, 1, 2, page_failures.PROVEN]),
    )
    signal = HostSignal(
        kind=rng.choice(list(HostSignalKind)),
        started_at=rng.choice([moment(), now + 4000.0]),
        latency_s=rng.choice([None, rng.random() * 50]),
        retry_after_s=rng.choice([None, None, -1.0, rng.random() * 5000]),
        robots_read=rng.random() < 0.3,
        crawl_delay_s=rng.choice([None, -3.0, rng.random() * 60]),
    )
    return now, rules, host, signal


def told(host):
    values = (host.next_at, host.delay_s, host.crawl_delay_s, host.incident_at, host.last_at)
    values += (host.hold_until, host.in_flight, host.incidents, host.silences, host.pages)
    values += (host.answered_at, host.troubled_since, host.troubled_by, host.pace_s, host.limit_s)
    values += (host.is_paced or None, host.is_held or None, host.is_skipped or None, host.waiting_since)
    values += (host.is_free or None, host.failed_in_row, host.blamed)
    return [-1.0 if value is None else float(value) for value in values]


async def test_lua_and_python_decide_alike(server):
    library = load_script("gossamer.frontier.redis", "politeness.lua", "steering.lua").source
    both = LuaScript(library + DRIVER, "0" * 40)
    rng = random.Random(11)
    kinds = {kind: number for number, kind in enumerate(HostSignalKind)}
    for _ in range(1500):
        now, rules, host, signal = drawn(rng)
        is_page, jitter, nth = rng.random() < 0.5, rng.random(), rng.randrange(1, 80)
        draw = rng.random()
        mark = politeness.mark_of(rng.choice([7, 8 - 2**40]), rng.choice([0, 1, 2]))
        failed = rng.choice([None, 0, 0, 1, 2, 3])
        order = HostOrder(
            command=rng.choice(list(HostCommand)),
            delay_s=rng.choice([None, 0.0, rng.random() * 9]),
            until=now + rng.choice([-5.0, 0.0, 90.0]),
        )
        case = {
            "rules": {name: getattr(rules, name) for name in rules.__struct_fields__},
            "host": {name: getattr(host, name) for name in host.__struct_fields__},
            "signal": {name: getattr(signal, name) for name in signal.__struct_fields__}
            | {"kind": kinds[signal.kind]},
            "is_page": is_page,
            "jitter": jitter,
            "draw": draw,
            "nth": nth,
            "mark": mark,
            "failed": failed,
            "waiting": rng.randrange(5),
            "command": order.command.value,
            "value": order.until if order.command is HostCommand.HOLD else order.delay_s,
        }
        answers = await server.run_script(both, "k", f"{now:.17g}", msgspec.msgpack.encode(case))
        expected = [politeness.start_by(host, rules, now)]
        down = "down" if politeness.is_down(host, rules) else "up"
        expected.append(down + (" room" if politeness.has_room(host, rules) else " full"))
        expected += [backoff_s(nth, rules, jitter), politeness.delay_in_force(host, rules)]
        expected.append(politeness.next_pause_s(host, rules))
        expected.append(politeness.count_startable(host, rules, case["waiting"], now))
        expected.append(politeness.ready_since(host))
        expected += [float(page_failures.asks_known(host, tries)) for tries in (0, 2)]
        after = politeness.grant_lease(host, rules, now, draw)
        expected += told(after)
        after = politeness.settle_lease(
            after, rules, signal, now=now, is_page=is_page, jitter=jitter, mark=mark, failed=failed
        )
        expected += told(after)
        expected += told(politeness.expire_lease(after))
        after = politeness.revive_host(politeness.expire_lease(after))
        expected += told(after)
        after = politeness.begin_waiting(after, now)
        expected += told(after)
        after = steering.move_turn(after, rules, now)
        expected += told(after)
        expected += told(steering.steer_host(after, order, rules, now))
        found = [x.decode() if number == 1 else float(x) for number, x in enumerate(answers)]
        assert found == expected, case
