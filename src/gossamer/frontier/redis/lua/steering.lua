-- What a person changes while a crawl runs: policy/steering.py, operation by operation.

local function soonest(h, rules, now)
  local delay_s = delay_in_force(h, rules)
  return h.in_flight > 0 and now + delay_s or max(now, h.last_at + delay_s)
end

local function move_turn(h, rules, now)
  change(h)
  local after_last = h.last_at ~= 0 and h.last_at + delay_in_force(h, rules) or 0
  h.next_at = max(min(h.next_at, soonest(h, rules, now)), after_last, h.hold_until)
end

-- `value` is the delay of `pace` (false: the job's again), and the time of `hold`.
local function steer(h, command, value, rules, now)
  change(h)
  if command == 'pace' then
    h.is_paced, h.delay_s = value and true or false, value or 0
    move_turn(h, rules, now)
  elseif command == 'hold' then
    forgive(h)
    h.is_held, h.hold_until = true, value
    h.next_at = max(min(h.next_at, soonest(h, rules, now)), value)
  elseif command == 'ask' then
    h.is_held, h.hold_until = false, 0
    h.next_at = min(h.next_at, soonest(h, rules, now))
  else
    h.is_skipped = command == 'skip'
  end
end

local MOVING = 'turns:'

-- Whether two rules say other things of a domain.
local function differ(one, other)
  for domain, pace in pairs(one or {}) do
    local known = (other or {})[domain]
    if not known or known.delay_s ~= pace.delay_s or known.per_host ~= pace.per_host then return true end
  end
  return false
end

-- Other rules, from now on: adds to the fields of META that change. Returns 1 if by them other hosts may have room, or
-- their turns are others: then every host must be placed anew (place.lua), and until that is done the field `placing`
-- says so, with MOVING before it if turns are to be moved.
local function change_rules(packed, changes)
  local new, moving, before = cmsgpack.unpack(packed), false, rules
  for _, name in ipairs({'delay_s', 'min_delay_s', 'max_delay_s', 'initial_delay_s'}) do
    moving = moving or new[name] ~= before[name]
  end
  moving = moving or differ(new.domains, before.domains) or differ(before.domains, new.domains)
  changes[#changes + 1], changes[#changes + 2] = 'rules', packed
  local has_others = new.per_host ~= before.per_host or new.max_pages_per_host ~= before.max_pages_per_host
  if not (moving or has_others) then return 0 end
  local cut_short = call('HGET', META, 'placing')
  moving = moving or (cut_short and sub(cut_short, 1, #MOVING) == MOVING)
  changes[#changes + 1], changes[#changes + 2] = 'placing', (moving and MOVING or '') .. redis.sha1hex(packed)
  return 1
end
