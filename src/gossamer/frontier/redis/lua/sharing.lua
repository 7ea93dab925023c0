-- One pace per host for all jobs of a server: policy/host_sharing.py, operation by operation.
--
-- ARGV[3] begins the names of its keys, empty where each job keeps a pace of its own (in a cluster, whose servers
-- cannot decide together); ARGV[4] is this job there, 8 bytes.
--
--   PACES:NUMBER  HASH   name of a host -> what all jobs know of it (PACE), then a CLAIM for each job. A host is
--                        written into the hash of the present hours and looked for in that of those before, too; what
--                        nobody has asked for so long is forgotten, and then what each job has stored of it counts.
--
--   PACES:jobs    ZSET   jobs that are worked on (KEYS[1] of their shards without the number), by the time of their latest
--                        call. A job that is alone publishes nothing, so one job costs what it would cost without all
--                        this. The next one asks it, host by host, when it is to ask there itself (ask_others).
--
-- Of a host h: mine is this job's claim, claims those of the others; has_pace says that all jobs know something of it;
-- known_... is what they know where a person has asked this one for something else.

local sharing = {} -- what scripts use of all this: one may have two hundred local names
do
  local PACES, ME = ARGV[3] or '', ARGV[4]
  local HOURS_S = 21600
  local PACE, CLAIM = '<dddddddddddIIIc8B', '<c8dddII'
  local SHORTEST_LOOK_S, LONGEST_LOOK_S, LOOK_SHARE, LATE_S, REMEMBERED_S, UNTOLD_S = 0.02, 0.2, 0.125, 0.03, 60, 60
  local NOBODY = string.rep('\0', 8)
  local JOBS, OURS = PACES .. ':jobs', string.match(KEYS[1], '^(.*):%d+}$') or KEYS[1]

  local function paces_key(now, before) return PACES .. ':' .. (math.floor(now / HOURS_S) - before) end

  local function new_claim() return {job = ME, till = 0, started_at = 0, waits_until = 0, in_flight = 0, slots = 1} end

  local function is_current(claim, now)
    return claim.waits_until > now or (claim.in_flight > 0 and claim.till > now)
  end

  local function is_ordered_hold(h, now) return h.is_held and h.hold_until > now end

  local function merge_pace(h, p, now)
    local held_until = is_ordered_hold(h, now) and h.hold_until
    h.next_at = held_until and max(p.next_at, held_until) or p.next_at
    h.hold_until = held_until and max(p.hold_until, held_until) or p.hold_until
    if not h.is_paced then h.delay_s = p.delay_s end
    h.crawl_delay_s, h.incidents, h.silences, h.incident_at = p.crawl_delay_s, p.incidents, p.silences, p.incident_at
    h.last_at, h.answered_at, h.troubled_since, h.troubled_by = p.last_at, p.answered_at, p.troubled_since, p.troubled_by
    h.pace_s, h.limit_s = p.pace_s, p.limit_s
  end

  -- Which slots other jobs have, and when it is not this job's turn.
  local function join_others(h, p, rules, now)
    local delay_s, look_at = delay_in_force(h, rules), 0
    if p.turn_by ~= ME and p.turn_by ~= NOBODY then
      look_at = p.turn_at + delay_s
      if max(look_at, h.next_at) < p.last_at + delay_s * KEPT_SHARE then look_at = p.last_at + delay_s end
    end
    local others, busy, slots = 0, 0, slots_for(h, rules)
    local limit, waited_for = slots, 0
    for _, claim in ipairs(h.claims) do
      if is_current(claim, now) then
        others = others + 1
        limit = min(limit, claim.slots)
        if claim.till > now then busy = busy + claim.in_flight end
        if h.mine and claim.started_at < h.mine.started_at then waited_for = max(waited_for, claim.waits_until) end
      end
    end
    h.look_at, h.taken = look_at, 0
    if others == 0 then return end
    local room = limit - busy
    if delay_s <= 0 and limit > others then
      room = min(room, math.floor(limit / (others + 1)))
    else
      h.look_at = max(look_at, waited_for)
    end
    h.taken = slots - room
  end

  local function join_pace(h, p, claims, is_alone, rules, now)
    h.claims, h.last_turn_at, h.last_turn_by, h.has_pace = claims, p.turn_at, p.turn_by, true
    h.known_next_at, h.known_delay_s, h.known_hold_until = p.next_at, p.delay_s, p.hold_until
    if is_alone then return end
    merge_pace(h, p, now)
    join_others(h, p, rules, now)
  end

  local function join_row(h, raw, rules, now)
    local p = {}
    local size, at
    p.next_at, p.delay_s, p.crawl_delay_s, p.incident_at, p.last_at, p.hold_until, p.answered_at, p.troubled_since,
      p.pace_s, p.limit_s, p.turn_at, p.incidents, p.silences, p.troubled_by, p.turn_by, size, at = struct.unpack(PACE, raw)
    p.crawl_delay_s = p.crawl_delay_s >= 0 and p.crawl_delay_s
    local is_alone, claims = p.turn_by == ME or p.turn_by == NOBODY, {}
    for _ = 1, size do
      local claim = {}
      claim.job, claim.till, claim.started_at, claim.waits_until, claim.in_flight, claim.slots, at =
        struct.unpack(CLAIM, raw, at)
      if claim.job == ME then
        h.mine = claim
      else
        claims[#claims + 1], is_alone = claim, false
      end
    end
    join_pace(h, p, claims, is_alone, rules, now)
  end

  -- Whether other jobs were at work in these hours. What is known of hosts is of no use without them: it grows old.
  local has_others = nil
  local function is_shared(now)
    if has_others == nil then
      local latest = PACES ~= '' and redis.call('ZREVRANGEBYSCORE', JOBS, '+inf', now - HOURS_S, 'LIMIT', 0, 2) or {}
      has_others = (latest[1] or OURS) ~= OURS or (latest[2] or OURS) ~= OURS
    end
    return has_others
  end

  -- This job is at work. At the end of a script, whose first write says what a server without memory may refuse.
  local function register_job(now)
    if PACES == '' then return end
    if redis.pcall('ZADD', JOBS, now, OURS) == 1 then redis.call('ZREMRANGEBYSCORE', JOBS, '-inf', now - HOURS_S) end
    redis.call('EXPIRE', JOBS, HOURS_S)
    if not is_shared(now) then redis.pcall('UNLINK', paces_key(now, 0), paces_key(now, 1)) end
  end

  local function leave() if PACES ~= '' then redis.call('ZREM', JOBS, OURS) end end

  -- What all jobs know of hosts that were read.
  local function join_hosts(list, rules, now)
    if not is_shared(now) then return end
    local names, found = {}, {}
    for _, h in ipairs(list) do
      if not h.is_free then names[#names + 1], found[#found + 1] = h.name, h end
    end
    for before = 0, 1 do
      if #names == 0 then return end
      local rows, missing, lacking = redis.call('HMGET', paces_key(now, before), unpack(names)), {}, {}
      for i, raw in ipairs(rows) do
        if raw then
          join_row(found[i], raw, rules, now)
        else
          missing[#missing + 1], lacking[#lacking + 1] = names[i], found[i]
        end
      end
      names, found = missing, lacking
    end
  end

  -- What all jobs are to know of a host by what one of them has stored of it.
  local function pace_beside(o, shard, now)
    local is_held, job = is_ordered_hold(o, now), string.sub(redis.sha1hex(shard), 1, 8)
    local claim = {
      job = job, till = o.in_flight > 0 and now + UNTOLD_S or 0, started_at = o.last_at, waits_until = 0,
      in_flight = o.in_flight, slots = UNBOUNDED,
    }
    return {
      next_at = is_held and 0 or o.next_at, hold_until = is_held and 0 or o.hold_until,
      delay_s = o.is_paced and 0 or o.delay_s, crawl_delay_s = o.crawl_delay_s,
      incidents = o.incidents, silences = o.silences, incident_at = o.incident_at, last_at = o.last_at,
      answered_at = o.answered_at, troubled_since = o.troubled_since, troubled_by = o.troubled_by,
      pace_s = o.pace_s, limit_s = o.limit_s, turn_at = o.last_at, turn_by = o.last_at ~= 0 and job or NOBODY,
      claims = {claim},
    }
  end

  -- What one shard of another job has stored of some hosts: `found(host, pace)` for each that it has.
  local function read_beside(shard, list, names, now, parse_host, found)
    local keys, asked = {}, {}
    for i, key in ipairs(redis.call('HMGET', shard .. ':names', unpack(names))) do
      if key then keys[#keys + 1], asked[#asked + 1] = key, list[i] end
    end
    if #keys == 0 then return end
    for i, raw in ipairs(redis.call('HMGET', shard .. ':hosts', unpack(keys))) do
      if raw then found(asked[i], pace_beside(parse_host(keys[i], raw), shard, now)) end
    end
  end

  -- Before hosts are asked of which nothing is known to all: other jobs may have been alone there until now. What the
  -- latest of them has stored counts. It is published with the turn that is taken now, or missed, so it is read once.
  local function ask_others(keys, hosts, rules, now, parse_host)
    if not is_shared(now) then return end
    local list, names, latest = {}, {}, {}
    for _, key in ipairs(keys) do
      local h = hosts[key]
      if not (h.is_free or h.has_pace) then list[#list + 1], names[#names + 1] = h, h.name end
    end
    if #list == 0 then return end
    local function choose_latest(h, pace)
      if pace.next_at > (latest[h] or h).next_at then latest[h] = pace end
    end
    for _, job in ipairs(redis.call('ZRANGEBYSCORE', JOBS, now - HOURS_S, '+inf')) do
      local shards = job ~= OURS and tonumber(redis.call('HGET', job .. ':0}:meta', 'shards') or 0) or 0
      for number = 0, shards - 1 do
        read_beside(job .. ':' .. number .. '}', list, names, now, parse_host, choose_latest)
      end
    end
    for h, pace in pairs(latest) do join_pace(h, pace, pace.claims, false, rules, now) end
  end

  -- A request is handed out: grant() has been called.
  local function take_turn(h, now, deadline)
    if not is_shared(now) then return end
    local mine = h.mine or new_claim()
    h.mine = mine
    mine.till, mine.started_at, mine.waits_until = max(mine.till, deadline), now, 0
  end

  local function look_s(h, rules)
    return min(max(delay_in_force(h, rules) * LOOK_SHARE, SHORTEST_LOOK_S), LONGEST_LOOK_S)
  end

  -- Its turn has come for this job, and another one has taken it.
  local function miss_turn(h, rules, now)
    change(h)
    local at = max(h.next_at, h.look_at)
    h.look_at = at > now and at or now + look_s(h, rules)
    h.mine = h.mine or new_claim()
    h.mine.waits_until = max(h.next_at, h.look_at) + look_s(h, rules) + LATE_S
  end

  local function keep_lease(h, deadline)
    change(h)
    h.mine = h.mine or new_claim()
    h.mine.till = max(h.mine.till, deadline)
  end

  local function packed_pace(h, rules, now)
    local is_held, mine, kept, size = is_ordered_hold(h, now), h.mine or new_claim(), {}, 1
    h.mine = mine
    mine.in_flight, mine.slots = h.in_flight, slots_of(h, rules)
    for _, claim in ipairs(h.claims) do
      if max(claim.till, claim.waits_until, claim.started_at + REMEMBERED_S) > now then
        size = size + 1
        kept[size - 1] = struct.pack(
          CLAIM, claim.job, claim.till, claim.started_at, claim.waits_until, claim.in_flight, claim.slots)
      end
    end
    kept[size] = struct.pack(CLAIM, ME, mine.till, mine.started_at, mine.waits_until, mine.in_flight, mine.slots)
    local began = h.turn_began
    if began and began ~= 0 then h.last_turn_at, h.last_turn_by, h.turn_began = began, ME, false end
    if not is_held then h.known_next_at, h.known_hold_until = h.next_at, h.hold_until end
    if not h.is_paced then h.known_delay_s = h.delay_s end
    return struct.pack(
      PACE, h.known_next_at, h.known_delay_s, h.crawl_delay_s or -1, h.incident_at, h.last_at, h.known_hold_until,
      h.answered_at, h.troubled_since, h.pace_s, h.limit_s, h.last_turn_at, h.incidents, h.silences, h.troubled_by,
      h.last_turn_by, size) .. table.concat(kept)
  end

  -- Let all jobs know what has become of hosts.
  local function publish_hosts(list, rules, now)
    if not is_shared(now) then return end
    local rows = {}
    for _, h in ipairs(list) do
      if h.is_changed and not h.is_free then
        rows[#rows + 1], rows[#rows + 2] = h.name, packed_pace(h, rules, now)
      end
      h.is_changed = false
    end
    if #rows == 0 then return end
    local key = paces_key(now, 0)
    redis.call('HSET', key, unpack(rows))
    redis.call('EXPIRE', key, 3 * HOURS_S)
  end

  sharing.is_shared, sharing.nobody = is_shared, NOBODY
  sharing.join_hosts, sharing.ask_others, sharing.publish_hosts = join_hosts, ask_others, publish_hosts
  sharing.register_job, sharing.leave = register_job, leave
  sharing.take_turn, sharing.miss_turn, sharing.keep_lease = take_turn, miss_turn, keep_lease
end

