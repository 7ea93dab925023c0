-- When a host may be asked again: policy/politeness.py, policy/page_failures.py, and backoff_s of policy/retry.py,
-- operation by operation, so that both give the same doubles (a test draws hosts, rules and signals and compares them).
-- Each function changes the host `h` it is given.

local max, min = math.max, math.min
local CATCH_UP_SHARE, KEPT_SHARE = 0.05, 0.95
local LATE_SHARE, LATE_LEAST_S, LATE_FLOOR_S = 0.1, 0.02, 0.25
local SLOW_DOWN, SPEED_UP_STEPS, PROBING, SHORTEST_PACE_S = 2, 64, 0.95, 0.001
local UNASKED_S, LONGEST_PAUSE_S = 3600, 60

local function growing_pause_s(nth, base_s, cap_s, jitter)
  local whole = min(base_s * 2 ^ min(nth - 1, 60), cap_s)
  return whole / 2 + whole / 2 * jitter
end

local function backoff_s(nth, rules, jitter)
  return growing_pause_s(nth, rules.backoff_base_s, rules.backoff_cap_s, jitter)
end

local function own_delay(h, rules)
  if h.is_paced then return h.delay_s end
  if h.own_delay_s then return h.own_delay_s end
  if rules.delay_s then return rules.delay_s end
  local known = h.delay_s ~= 0 and h.delay_s or rules.initial_delay_s
  return min(max(known, rules.min_delay_s), rules.max_delay_s)
end

-- Slots where nobody is asked, and seconds within which a lease of it may be started.
local UNBOUNDED = 2 ^ 30

local function delay_in_force(h, rules)
  if h.is_free then return 0 end
  return max(own_delay(h, rules), h.crawl_delay_s or 0, h.pace_s)
end

-- Seconds from a turn to the next one: the delay in force, or drawn around what the operator asks for.
local function draw_delay(h, rules, jitter)
  if not rules.random_delay or h.is_free then return delay_in_force(h, rules) end
  return max(own_delay(h, rules) * (0.5 + jitter), h.crawl_delay_s or 0, h.pace_s)
end

local function slots_of(h, rules) return h.own_slots or rules.per_host end

local function slots_for(h, rules)
  if h.is_free then return UNBOUNDED end
  return h.troubled_since ~= 0 and 1 or slots_of(h, rules)
end

local function has_room_beside(h, rules, taken)
  if h.is_skipped or h.in_flight + taken >= slots_for(h, rules) then return false end
  return h.is_free or not rules.max_pages_per_host or h.pages + h.in_flight < rules.max_pages_per_host
end

local function has_room(h, rules) return has_room_beside(h, rules, h.taken) end

local function may_start(h, rules, now) return max(h.next_at, h.look_at) <= now and has_room(h, rules) end

local function begin_waiting(h, now) h.waiting_since = now end

local function startable(h, rules, waiting, now)
  if not may_start(h, rules, now) then return 0 end
  if h.is_free then return min(waiting, UNBOUNDED - h.in_flight) end
  local free = 1
  if delay_in_force(h, rules) <= 0 then free = slots_for(h, rules) - h.in_flight - h.taken end
  if rules.max_pages_per_host then free = min(free, rules.max_pages_per_host - h.pages - h.in_flight) end
  return min(waiting, free)
end

local function ready_since(h) return max(h.next_at, h.look_at, h.waiting_since, h.answered_at, h.incident_at) end

local function is_down(h, rules)
  if h.answered_at ~= 0 then
    return h.troubled_since > 0 and h.incident_at - h.troubled_since >= rules.host_patience_s
  end
  return h.silences >= rules.max_silences
end

-- What all jobs are to know of a host has changed (sharing.lua).
local function change(h) h.is_changed = true end

local function lost(h)
  change(h)
  h.in_flight = max(h.in_flight - 1, 0)
end

local function blames_pages(h) return h.blamed >= 3 end -- PROVEN

local function pause_s(h, rules, incidents, jitter)
  local SHORTEST_SILENCE_S, LEAST_CAP_S = 0.05, 0.1 -- here: a script may have two hundred local names
  local base_s = h.silences > 0 and not (incidents == 1 and blames_pages(h)) and max(rules.backoff_base_s, SHORTEST_SILENCE_S)
    or max(delay_in_force(h, rules), SHORTEST_PACE_S)
  return growing_pause_s(incidents, base_s, min(max(rules.backoff_cap_s, LEAST_CAP_S), LONGEST_PAUSE_S), jitter)
end

local function next_pause_s(h, rules)
  local delay_s = delay_in_force(h, rules)
  if h.troubled_since <= 0 then return delay_s * SLOW_DOWN end
  return max(pause_s(h, rules, h.incidents + 1, 1), delay_s)
end

local SEVERAL, NO_WITNESS = 0, 1

local function is_silent(h) return h.troubled_since > 0 and h.silences > 0 end

local function is_suspect(h) return h.troubled_since > 0 and h.troubled_by ~= SEVERAL end

local function asks_known(h, attempts)
  if h.troubled_since == 0 or h.answered_at == 0 then return false end
  if attempts > 0 and (h.silences > 0 or blames_pages(h)) then return true end
  return h.incidents > 1 and h.incidents % 4 ~= 3
end

local function witness(h, mark)
  if mark == NO_WITNESS or mark == h.troubled_by then return end
  h.troubled_by = h.troubled_by == NO_WITNESS and mark or SEVERAL
end

local function forgive(h)
  change(h)
  h.incidents, h.silences, h.incident_at, h.troubled_since, h.troubled_by = 0, 0, 0, 0, 0
end

local function asks_for_delay(h) return (h.crawl_delay_s or 0) ~= 0 end

local function turn(h, delay_s, now)
  local late_s = asks_for_delay(h) and 0 or delay_s * CATCH_UP_SHARE
  return h.next_at >= now - late_s and h.next_at or now
end

local function grant(h, rules, now, jitter)
  local delay_s = draw_delay(h, rules, jitter)
  change(h)
  h.in_flight = h.in_flight + 1
  h.next_at = turn(h, delay_in_force(h, rules), now) + delay_s
  h.turn_began = h.next_at - delay_s
end

local function start_by(h, rules, now)
  if h.is_free then return now + UNBOUNDED end
  local delay_s = delay_in_force(h, rules)
  local is_alone = delay_s <= 0 or slots_of(h, rules) == 1 or delay_s <= h.pace_s
  return turn(h, delay_s, now) + max(is_alone and LATE_FLOOR_S or LATE_LEAST_S, delay_s * LATE_SHARE)
end

local settle_host -- its parts are its own: a script may have two hundred local names
do
  -- A signal is {kind, started_at, latency_s, retry_after_s, robots_read, crawl_delay_s}; absent values are nil.
  local UNUSED, OK, FAULT, THROTTLED, UNREACHABLE = 0, 1, 2, 3, 4
  local PROVEN, MOST_IN_ROW, FAILED_BEFORE, CLEARED, LEAST_BLAMED = 3, 4, 3, 3, -20

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
    if h.is_paced or h.own_delay_s or rules.delay_s or not signal.latency_s then return end
    local current = h.delay_s ~= 0 and h.delay_s or rules.initial_delay_s
    local wanted = (current + signal.latency_s) / 2
    if signal.kind ~= OK then wanted = max(wanted, current) end
    h.delay_s = min(max(wanted, rules.min_delay_s), rules.max_delay_s)
  end

  local function hasten(h, rules)
    if h.pace_s > h.limit_s then
      local step_s = h.limit_s * SPEED_UP_STEPS
      h.pace_s = h.pace_s * step_s / (h.pace_s + step_s)
    else
      h.pace_s = h.pace_s * PROBING
    end
    if h.pace_s <= max(own_delay(h, rules), SHORTEST_PACE_S) then h.pace_s = 0 end
  end

  -- After an answer: a page that had failed and is answered now has failed because of its host.
  local function clear_pages(h, signal, failed)
    if failed and failed > 0 and signal.kind == OK then h.blamed = max(min(h.blamed, 0) - CLEARED, LEAST_BLAMED) end
    if signal.started_at >= h.incident_at then h.failed_in_row = 0 end
  end

  -- After a failure: it is proof against its page, against its host, or none.
  local function blame_page(h, failed)
    if not failed then
      h.blamed = min(h.blamed, 0)
    elseif failed > 0 and h.failed_in_row == 0 then
      h.blamed = min(h.blamed + 1, PROVEN)
    end
    h.failed_in_row = min(h.failed_in_row + 1, MOST_IN_ROW)
  end

  local function is_pages_own(h, signal, failed)
    if h.troubled_since ~= 0 or signal.retry_after_s or not failed then return false end
    local is_again = failed >= FAILED_BEFORE and h.failed_in_row == 1 and h.blamed >= 0
    return is_again or (blames_pages(h) and h.failed_in_row < MOST_IN_ROW)
  end

  local function pass_over(h, rules, signal, now)
    if h.pace_s ~= 0 then
      h.pace_s, h.limit_s = h.pace_s / SLOW_DOWN, h.limit_s / SLOW_DOWN
      if h.pace_s <= max(own_delay(h, rules), SHORTEST_PACE_S) then h.pace_s = 0 end
    end
    if signal.kind == THROTTLED then h.answered_at = now end
  end

  local function answer(h, rules, signal, now)
    h.answered_at = now
    if signal.started_at < h.incident_at then return end
    if h.pace_s ~= 0 and signal.kind == OK then hasten(h, rules) end
    h.incidents, h.silences, h.troubled_since, h.troubled_by = 0, 0, 0, 0
  end

  local function slow(h, rules, signal)
    h.limit_s = max(delay_in_force(h, rules), (signal.latency_s or 0) / (h.in_flight + 1), SHORTEST_PACE_S)
    h.pace_s = min(h.limit_s * SLOW_DOWN, max(rules.max_delay_s, own_delay(h, rules) * SLOW_DOWN))
  end

  local function incident(h, rules, signal, now, mark, failed)
    local is_proof = (failed or 0) > 0 and h.blamed > 0 -- against the page, not against the pace
    if signal.kind == THROTTLED and h.incidents == 0 and not is_proof then slow(h, rules, signal) end
    if h.troubled_since ~= 0 then
      local unasked_s = signal.started_at - max(h.hold_until, h.incident_at)
      if unasked_s > UNASKED_S then h.troubled_since = h.troubled_since + unasked_s end
      witness(h, mark)
    else
      h.troubled_since, h.troubled_by = now, mark
    end
    h.incidents, h.incident_at = h.incidents + 1, now
    if signal.kind == UNREACHABLE then h.silences = h.silences + 1 end
  end

  local function trouble(h, rules, signal, now, jitter, mark, failed)
    local is_silent, is_new = signal.kind == UNREACHABLE, signal.started_at >= h.incident_at
    if not is_silent then h.answered_at, h.silences = now, 0 end
    if is_new then
      incident(h, rules, signal, now, mark, failed)
    else
      witness(h, mark)
    end
    if is_down(h, rules) then return end
    local hold
    if signal.retry_after_s then
      hold = min(max(signal.retry_after_s, 0), rules.retry_after_cap_s)
      if is_new and h.incidents > 1 then hold = max(hold, pause_s(h, rules, h.incidents, jitter)) end
    elseif is_new then
      hold = pause_s(h, rules, h.incidents, jitter)
    else
      return
    end
    h.next_at, h.hold_until = max(h.next_at, now + hold), max(h.hold_until, now + hold)
  end

  local function keep_distance(h, rules, started_at)
    local delay_s, kept = draw_delay(h, rules, 0), asks_for_delay(h) and 1 or KEPT_SHARE
    if h.next_at < started_at + delay_s * kept then h.next_at = started_at + delay_s end
  end

  -- `failed`: how often the request had failed before; nil: another URL was requested in its place.
  function settle_host(h, rules, signal, now, is_page, jitter, mark, failed)
    lost(h)
    if h.is_free then return end
    if is_page then h.pages = h.pages + 1 end
    if signal.robots_read then
      local asked = signal.crawl_delay_s
      h.crawl_delay_s = asked and min(max(asked, 0), rules.crawl_delay_cap_s)
    end
    local kind, started_at = signal.kind, signal.started_at
    if kind == UNUSED then return give_turn_back(h, rules, signal, now) end
    adapt(h, rules, signal)
    h.last_at = max(h.last_at, started_at)
    if kind == OK or kind == FAULT then
      clear_pages(h, signal, failed)
      answer(h, rules, signal, now)
      return keep_distance(h, rules, started_at)
    end
    blame_page(h, failed)
    if is_pages_own(h, signal, failed) then
      pass_over(h, rules, signal, now)
    elseif kind == UNREACHABLE and h.answered_at > started_at then
      if started_at >= h.incident_at then
        slow(h, rules, signal)
        h.incident_at = now
      end
    else
      trouble(h, rules, signal, now, jitter, mark, failed)
    end
    keep_distance(h, rules, started_at)
  end
end
