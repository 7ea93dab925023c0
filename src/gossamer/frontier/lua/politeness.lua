-- When a host may be asked again: policy/politeness.py and backoff_s of policy/retry.py, operation by
-- operation, so that both give the same doubles (a test draws hosts, rules and signals and compares them).
-- Each function changes the host `h` it is given.

local max, min = math.max, math.min
local CATCH_UP_SHARE, KEPT_SHARE = 0.05, 0.95
local LATE_SHARE, LATE_FLOOR_S = 0.1, 0.25

local function backoff_s(nth, rules, jitter)
  local whole = min(rules.backoff_base_s * 2 ^ min(nth - 1, 60), rules.backoff_cap_s)
  return whole / 2 + whole / 2 * jitter
end

local function delay_in_force(h, rules)
  local delay = rules.delay_s
  if not delay then
    local known = h.delay_s ~= 0 and h.delay_s or rules.initial_delay_s
    delay = min(max(known, rules.min_delay_s), rules.max_delay_s)
  end
  return max(delay, h.crawl_delay_s or 0)
end

local function has_room(h, rules)
  if h.in_flight >= rules.per_host then return false end
  return not rules.max_pages_per_host or h.pages + h.in_flight < rules.max_pages_per_host
end

local function is_down(h, rules) return h.silences >= rules.max_silences end

local function lost(h) h.in_flight = max(h.in_flight - 1, 0) end

local function forgive(h) h.incidents, h.silences, h.incident_at = 0, 0, 0 end

local function asks_for_delay(h) return (h.crawl_delay_s or 0) ~= 0 end

local function turn(h, delay_s, now)
  local late_s = asks_for_delay(h) and 0 or delay_s * CATCH_UP_SHARE
  return h.next_at >= now - late_s and h.next_at or now
end

local function grant(h, rules, now)
  local delay_s = delay_in_force(h, rules)
  h.in_flight = h.in_flight + 1
  h.next_at = turn(h, delay_s, now) + delay_s
end

local function start_by(h, rules, now)
  local delay_s = delay_in_force(h, rules)
  local slack_s = delay_s * LATE_SHARE
  if not (delay_s > 0 and rules.per_host > 1) then slack_s = max(LATE_FLOOR_S, slack_s) end
  return turn(h, delay_s, now) + slack_s
end

-- A signal is {kind, started_at, latency_s, retry_after_s, robots_read, crawl_delay_s}; absent values are nil.
local UNUSED, OK, THROTTLED, UNREACHABLE = 0, 1, 3, 4

local function give_turn_back(h, rules, signal, now)
  local delay_s = delay_in_force(h, rules)
  if signal.retry_after_s then
    local wait_s = min(max(signal.retry_after_s, 0), rules.retry_after_cap_s)
    h.next_at = max(h.next_at, now + wait_s)
  elseif h.in_flight == 0 then
    local earliest = max(h.last_at ~= 0 and h.last_at + delay_s or 0, h.hold_until)
    h.next_at = max(h.next_at - delay_s, earliest)
  end
end

local function adapt(h, rules, signal)
  if rules.delay_s or not signal.latency_s then return end
  local current = h.delay_s ~= 0 and h.delay_s or rules.initial_delay_s
  local wanted = (current + signal.latency_s) / 2
  if signal.kind ~= OK then wanted = max(wanted, current) end
  h.delay_s = min(max(wanted, rules.min_delay_s), rules.max_delay_s)
end

local function trouble(h, rules, signal, now, jitter)
  local is_new = signal.started_at >= h.incident_at
  if is_new then
    h.incidents, h.incident_at = h.incidents + 1, now
    if signal.kind == UNREACHABLE then h.silences = h.silences + 1 end
  end
  if is_down(h, rules) then return end
  local hold
  if signal.retry_after_s then
    hold = min(max(signal.retry_after_s, 0), rules.retry_after_cap_s)
  elseif is_new then
    hold = backoff_s(h.incidents, rules, jitter)
  else
    return
  end
  h.next_at, h.hold_until = max(h.next_at, now + hold), max(h.hold_until, now + hold)
end

local function settle_host(h, rules, signal, now, is_page, jitter)
  lost(h)
  if is_page then h.pages = h.pages + 1 end
  if signal.robots_read then
    local asked = signal.crawl_delay_s
    h.crawl_delay_s = asked and min(max(asked, 0), rules.crawl_delay_cap_s)
  end
  if signal.kind == UNUSED then return give_turn_back(h, rules, signal, now) end
  adapt(h, rules, signal)
  h.last_at = max(h.last_at, signal.started_at)
  local delay_s = delay_in_force(h, rules)
  if signal.kind ~= UNREACHABLE then h.silences = 0 end
  if signal.kind == THROTTLED or signal.kind == UNREACHABLE then
    trouble(h, rules, signal, now, jitter)
  elseif signal.kind == OK and signal.started_at >= h.incident_at then
    h.incidents = 0
  end
  local kept = asks_for_delay(h) and 1 or KEPT_SHARE
  if h.next_at < signal.started_at + delay_s * kept then h.next_at = signal.started_at + delay_s end
end
