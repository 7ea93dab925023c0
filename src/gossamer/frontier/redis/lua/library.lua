-- What every script of the frontier is made of: the keys, the job, its hosts, and the forms of a request.
--
-- One shard of a job has these keys. P is KEYS[1], "gossamer:{JOB-DIGEST:SHARD}": the braces put all keys of a shard
-- into one slot of a Redis Cluster, so that declaring P is enough.
--
--   P:meta       HASH    the job: state, rules and the names of lanes (msgpack), how it dedups, counters. Its absence means
--                        that the requests are gone. In which field the lanes are says what may be written here (`layout`).
--   P:going      HASH    only while the job is being forgotten: how many shards it has
--   P:s:BUCKET   SET     fingerprints as decimal numbers, few enough to stay a small intset (about 9 bytes each);
--                        or STRING, the bits of a Bloom filter. With seen_ttl_s P:sGENERATION:BUCKET.
--   P:names      HASH    name of a host -> its key: its number as 4 bytes, so that keys sort as numbers do
--   P:hosts      HASH    key -> the host's pace and what waits for it (HOST), then its name
--   P:q:L:B:HOST LIST    pending requests of lane L, band B, and a host, in the order of their ids
--   P:b:L:B:HOST ZSET    those that are not in that order: they came back (released, retried, revived), or have another
--                        priority than the band's; by their place in it (place_of). Mostly absent
--   P:t:L:B      ZSET    hosts whose best request in lane L is of band B, by the time of their next turn; only
--                        hosts with work and a free slot. It follows from P:hosts (`turns_of`).
--   P:d:L        ZSET    delayed requests by the time they are due
--   P:leases     HASH    token -> the lease and its request (LEASE)
--   P:deadlines  ZSET    tokens by deadline
--   P:dead       ZSET    dead letters by the time of their death
--   P:relied     SET     "SHARD:LIFE": on which lives of other shards' servers requests of P:on... rely; mostly absent
--   P:on:S:LIFE  ZSET    requests that were settled lately, some of whose links were added to shard S before, in another
--                        append-only file than this shard's: by the time they were settled. Should that life end, its
--                        last second may be lost, and they are done again (redo.lua). After KEPT_S they need it no more.
--
-- Forms of a request. In a queue: id (6 bytes), fingerprint (8), the sum of 1 (TRIES and the latest reason follow) and 2 (before
-- them its rank follows, which is not its band's), then the text of frontier/codec.py. In P:d and P:dead the same, with host,
-- lane and band (PLACE) after the id.
--
-- A script validates and reads before its first write, because Lua does not roll back; the first write is
-- one that a Redis without memory refuses if the script takes something in, and one that it allows if not.
-- ARGV[1] is the time, or empty for the server's; ARGV[2] the arguments as msgpack.

local call, pack, read, sub = redis.call, struct.pack, struct.unpack, string.sub
local floor, ceil = math.floor, math.ceil
local P = KEYS[1]
local META, NAMES, HOSTS = P .. ':meta', P .. ':names', P .. ':hosts'
local LEASES, DEADLINES, DEAD = P .. ':leases', P .. ':deadlines', P .. ':dead'
local RELIED = P .. ':relied'
local ROUND, BANDS = 500, 9
-- A host's last byte but one is the sum of 1 (it has turns), 2 where the rest of this form follows (the former version
-- wrote hosts without it, HOST_BEFORE, and knew nothing of when they had answered), what a person asked for (SKIPPED,
-- PACED, HELD), DATED where it ends, before the name, with the time since when something waits for the host, LOOKING
-- where the time follows before which it is not this job's turn, and BLAMING where BLAMED follows: pages that failed in a
-- row, and proofs that failures are the pages' own. What all jobs of the server know of a host is apart
-- (sharing.lua); this has a copy.
local HOST, WAITING = '<ddddddIIIIBBddddI', '<BBII' -- lane, band, in the list, come back
local HOST_BEFORE, FORM_AT = '<ddddddIIIIBB', 65
local WHOLE, SKIPPED, PACED, HELD, DATED, LOOKING = 2, 4, 8, 16, 32, 64
local LEASE = '<c4BBddBB' -- host, lane, band, granted_at, start_by, STANDING, length of the owner's name after it
-- Of a host at a grant, added up.
local STANDING = {DOWN = 1, ANSWERED = 2, SUSPECT = 4, SILENT = 8, BLAMES = 16, KNOWN = 32, UNHEARD = 64, TROUBLED = 128}
local PLACE = '>c4BB'

local now = tonumber(ARGV[1])
if not now then
  local time = call('TIME')
  now = time[1] + time[2] / 1000000
end
local args = cmsgpack.unpack(ARGV[2])

-- ------------------------------------------------------------------------------------------ the job

local COUNTERS = {
  'pending', 'delayed', 'leased', 'done', 'dead', 'pages', 'duplicates', 'too_deep', 'hosts', 'next_id', 'next_token',
}
local job, rules, lanes, count, counted = nil, nil, nil, {}, {}
-- The field of META that has the lanes' names says what this job's keys may hold: from the second one on hosts that are
-- WHOLE, from the third one on hosts that are LOOKING, and requests with a rank, from the fourth one on hosts that are
-- BLAMING. A version that does not know the field stops before it changes anything, since it would misread these and write
-- them back wrong. So long as there are none, workers of both versions may work on a job.
local layout = {
  fields = {'lanes', 'lane_names', 'lane_list', 'lane_table'}, whole_hosts = 2, looks_and_ranks = 3, blaming_hosts = 4,
  now = 1, needed = 1, BLAMING = 128, BLAMED = '<Bb',
}
do
  local row = call(
    'HMGET', META, 'state', 'dedup', 'buckets', 'generation_s', 'rules', 'lane_table', 'lane_list', 'lane_names',
    unpack(COUNTERS))
  if not row[1] then return redis.error_reply('GOSSAMER_GONE no such job') end
  job = {state = row[1], dedup = row[2], buckets = tonumber(row[3]), generation_s = tonumber(row[4])}
  layout.now = row[6] and 4 or row[7] and 3 or row[8] and 2 or 1
  rules, lanes = cmsgpack.unpack(row[5]), cmsgpack.unpack(row[6] or row[7] or row[8] or call('HGET', META, 'lanes'))
  rules.host_patience_s = rules.host_patience_s or 21600 -- a job of the former version, as by default
  for i, name in ipairs(COUNTERS) do
    count[name] = tonumber(row[i + 8])
    counted[name] = count[name]
  end
end
local new_lanes = false

local function exact(number) return string.format('%.17g', number) end

-- Which run of the server this is: another one after a restart, or on the replica that took over; it may not have the
-- last second of the one before. Empty: this user may not know.
local function life_of_server()
  local info = redis.pcall('INFO', 'server')
  return type(info) == 'string' and string.match(info, 'run_id:(%w+)') or ''
end

local function is_another(life, known) return known and known ~= '' and life ~= '' and life ~= known end

local function relied_key(reliance) return P .. ':on:' .. reliance end

-- In P:t:... and P:deadlines stands one more member, at the end of time and too long for the compact form that Redis
-- gives to small sorted sets: that one reads all its numbers, as text, at every change.
local PAD = string.rep('-', 65)

-- Collected arguments of commands, by their key.
local function add_to(lists, key, value)
  local list = lists[key]
  if list then list[#list + 1] = value else lists[key] = {value} end
end

local function add_pair(lists, key, one, other)
  local list = lists[key]
  if list then
    local size = #list
    list[size + 1], list[size + 2] = one, other
  else
    lists[key] = {one, other}
  end
end

local function call_each(command, lists)
  for key, list in pairs(lists) do call(command, key, unpack(list)) end
end

local function lane_number(name)
  for i, known in ipairs(lanes) do
    if known == name then return i end
  end
  return nil
end

-- The same, for a lane in which something will wait: it becomes one of the job's.
local function numbered_lane(name)
  local number = lane_number(name)
  if not number then
    number = #lanes + 1
    if number > 255 then error('more than 255 lanes') end
    lanes[number], new_lanes = name, true
  end
  return number
end

local function move(from, to, by)
  if from then count[from] = count[from] - by end
  count[to] = count[to] + by
end

function layout.need(number) layout.needed = max(layout.needed, number) end

function layout.raise()
  if layout.now >= layout.needed then return end
  call('HSET', META, layout.fields[layout.needed], cmsgpack.pack(lanes))
  call('HDEL', META, layout.fields[layout.now])
  layout.now = layout.needed
end

local function save_job()
  layout.raise()
  local changed = {}
  for _, name in ipairs(COUNTERS) do
    if count[name] ~= counted[name] then
      changed[#changed + 1], changed[#changed + 2] = name, count[name]
      counted[name] = count[name]
    end
  end
  if new_lanes then
    changed[#changed + 1], changed[#changed + 2] = layout.fields[layout.now], cmsgpack.pack(lanes)
    new_lanes = false
  end
  if #changed > 0 then call('HSET', META, unpack(changed)) end
end

-- ------------------------------------------------------------------------------------------ hosts

local hosts, touched = {}, {} -- by key; in the order they were touched
local NO_CLAIMS = {}

-- The band of a host's best request in a lane; nil: it has none.
local function best(h, lane)
  local waiting, band = h.waiting, nil
  for i = 1, #waiting do
    local slot = waiting[i]
    if slot[1] == lane and slot[3] + slot[4] > 0 and (not band or slot[2] < band) then band = slot[2] end
  end
  return band
end

local function slot_of(h, lane, band)
  local waiting = h.waiting
  for i = 1, #waiting do
    local slot = waiting[i]
    if slot[1] == lane and slot[2] == band then return slot end
  end
  local slot = {lane, band, 0, 0}
  waiting[#waiting + 1] = slot
  return slot
end

-- The bands in which a host stands, by lane, while it has room.
local function turns_of(h)
  local waiting, turns = h.waiting, {}
  for i = 1, #waiting do
    local slot = waiting[i]
    local lane, band = slot[1], slot[2]
    if slot[3] + slot[4] > 0 and (not turns[lane] or band < turns[lane]) then turns[lane] = band end
  end
  return turns
end

-- Whether nobody is asked for what waits there (core/hosts.py, FREE).
local function is_free(name) return string.find(name, '/', 1, true) ~= nil end

-- What the rules say of the longest domain that a host is, or is below (policy/domains.py, find_domain).
local function pace_of_domain(name)
  local domains = rules.domains
  if not domains or not next(domains) then return nil end
  if domains[name] then return domains[name] end
  name = string.gsub(name, ':%d+$', '')
  while not domains[name] do
    local dot = string.find(name, '.', 1, true)
    if not dot then return nil end
    name = sub(name, dot + 1)
  end
  return domains[name]
end

local function adopt_domain(h)
  local pace = not h.is_free and pace_of_domain(h.name)
  if pace then h.own_delay_s, h.own_slots = pace.delay_s, pace.per_host end
  return h
end

local function has_flag(form, flag) return form % (2 * flag) >= flag end

local function parse_host(key, raw)
  local is_whole = has_flag(string.byte(raw, FORM_AT), WHOLE)
  local next_at, delay_s, crawl_delay_s, incident_at, last_at, hold_until, in_flight, incidents, silences, pages,
    form, size, answered_at, troubled_since, pace_s, limit_s, troubled_by, at = read(is_whole and HOST or HOST_BEFORE, raw)
  if not is_whole then
    at, answered_at, troubled_since, pace_s, limit_s, troubled_by = answered_at, 0, 0, 0, 0, 0
  end
  local waiting = {}
  for i = 1, size do
    local lane, band, listed, back
    lane, band, listed, back, at = read(WAITING, raw, at)
    waiting[i] = {lane, band, listed, back}
  end
  local waiting_since = 0
  if has_flag(form, DATED) then waiting_since, at = read('<d', raw, at) end
  local look_at = 0
  if has_flag(form, LOOKING) then look_at, at = read('<d', raw, at) end
  local failed_in_row, blamed = 0, 0
  if form >= layout.BLAMING then failed_in_row, blamed, at = read(layout.BLAMED, raw, at) end
  local name = sub(raw, at)
  local h = { -- all at once, so that the table does not grow field by field
    key = key, name = name, is_free = is_free(name),
    next_at = next_at, delay_s = delay_s, crawl_delay_s = crawl_delay_s >= 0 and crawl_delay_s,
    incident_at = incident_at, last_at = last_at, hold_until = hold_until,
    in_flight = in_flight, incidents = incidents, silences = silences, pages = pages,
    answered_at = answered_at, troubled_since = troubled_since, troubled_by = troubled_by,
    pace_s = pace_s, limit_s = limit_s, failed_in_row = failed_in_row, blamed = blamed,
    waiting_since = waiting_since, is_skipped = has_flag(form, SKIPPED), is_paced = has_flag(form, PACED), is_held = has_flag(form, HELD),
    waiting = waiting, turns = false, turn_at = max(next_at, look_at), is_touched = false, look_at = look_at, taken = 0,
    is_changed = false, turn_began = false, mine = false, claims = NO_CLAIMS, last_turn_at = 0, last_turn_by = sharing.nobody,
    known_next_at = 0, known_delay_s = 0, known_hold_until = 0, has_pace = false,
  }
  h.turns = form % 2 == 1 and turns_of(h) or {}
  return adopt_domain(h)
end

local function load_hosts(keys)
  local missing, asked = {}, {}
  for i = 1, #keys do
    local key = keys[i]
    if not hosts[key] and not asked[key] then
      asked[key] = true
      missing[#missing + 1] = key
    end
  end
  if #missing == 0 then return end
  local rows = call('HMGET', HOSTS, unpack(missing))
  local found = {}
  for i, key in ipairs(missing) do
    found[i] = parse_host(key, rows[i])
    hosts[key] = found[i]
  end
  sharing.join_hosts(found, rules, now)
end

local function new_host(name)
  count.hosts = count.hosts + 1
  local h = {
    key = pack('>I4', count.hosts), name = name, is_free = is_free(name),
    next_at = 0, delay_s = 0, crawl_delay_s = false, incident_at = 0, last_at = 0, hold_until = 0,
    in_flight = 0, incidents = 0, silences = 0, pages = 0,
    answered_at = 0, troubled_since = 0, troubled_by = 0, pace_s = 0, limit_s = 0,
    failed_in_row = 0, blamed = 0, is_skipped = false, is_paced = false, is_held = false, waiting_since = 0,
    waiting = {}, turns = {}, turn_at = 0, is_touched = false, look_at = 0, taken = 0,
    is_changed = false, turn_began = false, mine = false, claims = NO_CLAIMS, last_turn_at = 0, last_turn_by = sharing.nobody,
    known_next_at = 0, known_delay_s = 0, known_hold_until = 0, has_pace = false,
  }
  hosts[h.key] = h
  return adopt_domain(h)
end

local function touch(h)
  if not h.is_touched then
    h.is_touched = true
    touched[#touched + 1] = h
  end
  return h
end

local keys_of_turns = {}
local function turn_key(lane, band)
  local number = lane * BANDS + band
  local key = keys_of_turns[number]
  if not key then
    key = P .. ':t:' .. lane .. ':' .. band
    keys_of_turns[number] = key
  end
  return key
end

local function packed_host(h, placed)
  local waiting, size, slots = h.waiting, 0, ''
  for i = 1, #waiting do
    local slot = waiting[i]
    if slot[3] + slot[4] > 0 then
      size, slots = size + 1, slots .. pack(WAITING, slot[1], slot[2], slot[3], slot[4])
    end
  end
  local blames = h.failed_in_row > 0 or h.blamed ~= 0
  if h.look_at > 0 then layout.need(layout.looks_and_ranks) end
  if blames then layout.need(layout.blaming_hosts) end
  local form = (placed and 3 or 2) + (h.is_skipped and SKIPPED or 0) + (h.is_paced and PACED or 0)
    + (h.is_held and HELD or 0) + (h.waiting_since > 0 and DATED or 0) + (h.look_at > 0 and LOOKING or 0)
    + (blames and layout.BLAMING or 0)
  return pack(
    HOST, h.next_at, h.delay_s, h.crawl_delay_s or -1, h.incident_at, h.last_at, h.hold_until,
    h.in_flight, h.incidents, h.silences, h.pages, form, size,
    h.answered_at, h.troubled_since, h.pace_s, h.limit_s, h.troubled_by
  ) .. slots .. (h.waiting_since > 0 and pack('<d', h.waiting_since) or '')
    .. (h.look_at > 0 and pack('<d', h.look_at) or '')
    .. (blames and pack(layout.BLAMED, h.failed_in_row, h.blamed) or '') .. h.name
end

-- Write the hosts that were touched, and their turns anew.
local function save_hosts()
  if #touched == 0 then return end
  local rows, gone, come = {}, {}, {}
  for i = 1, #touched do
    local h = touched[i]
    local placed, before, turn_at = has_room_beside(h, rules, 0), h.turns, max(h.next_at, h.look_at)
    local turns = placed and turns_of(h) or {}
    for lane, band in pairs(before) do
      if turns[lane] ~= band then add_to(gone, turn_key(lane, band), h.key) end
    end
    for lane, band in pairs(turns) do
      if before[lane] ~= band or h.turn_at ~= turn_at then
        add_pair(come, turn_key(lane, band), turn_at, h.key)
      end
    end
    h.turns, h.turn_at, h.is_touched = turns, turn_at, false
    rows[2 * i - 1], rows[2 * i] = h.key, packed_host(h, placed)
  end
  sharing.publish_hosts(touched, rules, now)
  touched = {}
  call_each('ZREM', gone)
  for key, list in pairs(come) do call('ZADD', key, 'inf', PAD, unpack(list)) end
  call('HSET', HOSTS, unpack(rows))
  layout.need(layout.whole_hosts)
  layout.raise()
end

-- ------------------------------------------------------------------------------------------ requests

local queue_prefixes = {q = {}, b = {}}
local function key_of(kind, h, lane, band)
  local prefixes, number = queue_prefixes[kind], lane * BANDS + band
  local prefix = prefixes[number]
  if not prefix then
    prefix = P .. ':' .. kind .. ':' .. lane .. ':' .. band .. ':'
    prefixes[number] = prefix
  end
  return prefix .. h.name
end

local function id_of(element) return (read('>I6', element)) end

local is_ranked, place_of, tries_of, with_tries
do
  local RANK, AFTER_IDS = '<d', 2 ^ 48
  local TRIES = '<dIIIIH' -- due_at, attempts, failures, throttled, expiries, length of the reason after it

  function is_ranked(element) return string.byte(element, 15) >= 2 end

  -- A request's place among those of its host and band: its id. Those of a better priority than the band's go before all
  -- ids, those of a worse one after them; among equals the ids decide, since an element begins with it.
  function place_of(element)
    if not is_ranked(element) then return id_of(element) end
    local rank = read(RANK, element, 16)
    return rank < 0 and rank or AFTER_IDS + rank
  end

  -- due_at, attempts, failures, throttled, expiries, reason, and where the text begins. `shift`: of a member with PLACE.
  function tries_of(element, shift)
    local at = 15 + (shift or 0)
    local form = string.byte(element, at)
    at = at + (form >= 2 and 9 or 1)
    if form % 2 == 0 then return 0, 0, 0, 0, 0, '', at end
    local due_at, attempts, failures, throttled, expiries, size
    due_at, attempts, failures, throttled, expiries, size, at = read(TRIES, element, at)
    return due_at, attempts, failures, throttled, expiries, sub(element, at, at + size - 1), at + size
  end

  function with_tries(element, text, due_at, attempts, failures, throttled, expiries, reason)
    return sub(element, 1, 14) .. (is_ranked(element) and '\3' .. sub(element, 16, 23) or '\1')
      .. pack(TRIES, due_at, attempts, failures, throttled, expiries, #reason)
      .. reason .. text
  end
end

-- politeness.mark_of, from the lower half of the fingerprint.
local function mark_of(element, attempts)
  if attempts > 1 then return NO_WITNESS end
  return max((read('>I4', element, 11)), NO_WITNESS + 1)
end

local function placed_at(element, h, lane, band)
  return sub(element, 1, 6) .. pack(PLACE, h.key, lane, band) .. sub(element, 7)
end

-- host, lane, band, element
local function unplaced(member)
  local key, lane, band = read(PLACE, member, 7)
  return key, lane, band, sub(member, 1, 6) .. sub(member, 13)
end

local function has_waiting(h)
  for _, slot in ipairs(h.waiting) do
    if slot[3] + slot[4] > 0 then return true end
  end
  return false
end

-- Requests come back into their old places: {host, lane, band, element} each, and for those that waited for no turn
-- meanwhile since when they do.
local function come_back(rows)
  local lists = {}
  for _, row in ipairs(rows) do
    local h, lane, band, element, at = unpack(row)
    if at and not has_waiting(h) then begin_waiting(h, at) end
    add_pair(lists, key_of('b', h, lane, band), place_of(element), element)
    local slot = slot_of(touch(h), lane, band)
    slot[4] = slot[4] + 1
  end
  call_each('ZADD', lists)
end

-- ------------------------------------------------------------------------------------------ leases

local function read_lease(token, raw)
  local host, lane, band, granted_at, start_by, standing, size, at = read(LEASE, raw)
  return {
    token = token, host = host, lane = lane, band = band, granted_at = granted_at, start_by = start_by,
    standing = standing, deadline = false, element = sub(raw, at + size),
  }
end

local function shown_lease(lease, h, deadline)
  return pack('>I6', lease.token)
    .. pack('<ddddB', lease.granted_at, lease.start_by, deadline, lease.pause_s, lease.standing) .. h.name
end

-- The leases that are in force, each at the place of its token; false for a stale one, and for one whose fingerprint
-- does not fit. `once`: and for one that was there before. Their hosts are loaded.
local function read_leases(tokens, fingerprints, once)
  local held, fields, keys, seen = {}, {}, {}, {}
  for i, token in ipairs(tokens) do fields[i] = pack('>I6', token) end
  if #fields == 0 then return held end
  for i, raw in ipairs(call('HMGET', LEASES, unpack(fields))) do
    local lease = raw and read_lease(tokens[i], raw)
    held[i] = false
    if lease and not (once and seen[lease.token]) and sub(lease.element, 7, 14) == fingerprints[i] then
      held[i], seen[lease.token] = lease, true
      keys[#keys + 1] = lease.host
    end
  end
  load_hosts(keys)
  return held
end

local function end_leases(tokens)
  if #tokens == 0 then return end
  local fields = {}
  for i, token in ipairs(tokens) do fields[i] = pack('>I6', token) end
  call('HDEL', LEASES, unpack(fields))
  call('ZREM', DEADLINES, unpack(fields))
end

-- Take leases back as expired: {{token, deadline}, ...}, all in force. What to tell of them.
local function expire(rows)
  local tokens, fields, shown, keys, held = {}, {}, {}, {}, {}
  for i, row in ipairs(rows) do fields[i] = pack('>I6', row[1]) end
  if #fields == 0 then return shown end
  for i, raw in ipairs(call('HMGET', LEASES, unpack(fields))) do
    if raw then
      local lease = read_lease(rows[i][1], raw)
      lease.deadline, lease.standing, lease.pause_s = rows[i][2], 0, 0
      held[#held + 1], tokens[#tokens + 1], keys[#keys + 1] = lease, lease.token, lease.host
    end
  end
  load_hosts(keys)
  end_leases(tokens)
  local delayed, dead = {}, {}
  for _, lease in ipairs(held) do
    local h = touch(hosts[lease.host])
    local _, attempts, failures, throttled, expiries, _, text_at = tries_of(lease.element)
    expiries = expiries + 1
    local spread = string.byte(lease.element, 13) * 256 + string.byte(lease.element, 14)
    local due_at = now + backoff_s(expiries, rules, spread / 65536)
    local element = with_tries(
      lease.element, sub(lease.element, text_at), due_at, attempts + 1, failures, throttled, expiries, 'expired')
    local member = placed_at(element, h, lease.lane, lease.band)
    if expiries > rules.max_expiries then
      add_pair(dead, DEAD, now, member)
      move('leased', 'dead', 1)
    else
      add_pair(delayed, P .. ':d:' .. lease.lane, due_at, member)
      move('leased', 'delayed', 1)
    end
    lost(h)
    shown[#shown + 1] = shown_lease(lease, h, lease.deadline)
    shown[#shown + 1] = lease.element
  end
  call_each('ZADD', delayed)
  call_each('ZADD', dead)
  return shown
end

-- ------------------------------------------------------------------------------------------ what is next

local function first_of(key)
  local row = call('ZRANGE', key, 0, 0, 'WITHSCORES')
  return row[2] and tonumber(row[2]) or math.huge
end

-- How many leases the job's page budget still allows in a lane; nil: any number. What is extracted was counted when it
-- was fetched.
local function leases_left(lane)
  return lanes[lane] ~= 'extract' and rules.max_pages and max(rules.max_pages - count.pages - count.leased, 0) or nil
end

-- When the first request of a lane may be next; infinity: none.
local function waits_in(lane)
  local earliest = math.huge
  if count.pending > 0 then
    for band = 0, BANDS - 1 do earliest = min(earliest, first_of(turn_key(lane, band))) end
  end
  if count.delayed > 0 then earliest = min(earliest, first_of(P .. ':d:' .. lane)) end
  return earliest
end

-- When the next request of a lane may be leased; infinity: none.
local function next_in(lane)
  return job.state == 'running' and leases_left(lane) ~= 0 and waits_in(lane) or math.huge
end

local function first_deadline() return count.leased > 0 and first_of(DEADLINES) or math.huge end

local function known_time(at) return at < math.huge and exact(at) or '' end
