-- The roster of one fleet. Every call is one atomic step; what each does is said in ports/roster.py and ports/worker_registry.py
-- (Roster, WorkerRegistry), and roster/memory.py is the same in Python.
--
-- Keys: KEYS[1] and a word each, so that all are in one slot of a cluster; all of bounded size, and all may
-- be lost at any time:
--   leader     HASH  me, token, until: who leads; fence: the largest token so far; forget_at
--   workers    HASH  worker id -> WorkerCard
--   shifts     HASH  shift id -> Shift
--   buried     ZSET  shift id by the time when it ended or was declared dead
--   standings  HASH  job "\n" lane -> Standing
--   ends       LIST  ShiftEnd, the newest first
--   samples    HASH  job -> array of Sample, the oldest first
--   store      STRING  FleetStore: the store that the fleet works with
--   bell       LIST  one element while it rings
-- Records are msgpack maps (core/shifts.py); a field that is not there has its default.
--
-- ARGV: 1 what to do; 2 now (empty: this server's time); 3 the bounds of roster/limits.py, packed; 4.. its own.

local base = KEYS[1] .. ':'
local leader, workers, shifts, buried = base .. 'leader', base .. 'workers', base .. 'shifts', base .. 'buried'
local standings, ends, samples, bell = base .. 'standings', base .. 'ends', base .. 'samples', base .. 'bell'
local store = base .. 'store'
local pack, unpack_ = cmsgpack.pack, cmsgpack.unpack
local bounds = unpack_(ARGV[3])
local now = tonumber(ARGV[2])
if not now then
  local time = redis.call('TIME')
  now = tonumber(time[1]) + tonumber(time[2]) / 1e6
end

local function get(key, field)
  local value = redis.call('HGET', key, field)
  return value and unpack_(value) or nil
end

local function put(key, field, record)
  redis.call('HSET', key, field, pack(record))
end

local function all(key)
  local found, records = redis.call('HGETALL', key), {}
  for i = 1, #found, 2 do
    records[#records + 1] = { found[i], unpack_(found[i + 1]) }
  end
  return records
end

local function ring()
  if redis.call('LLEN', bell) == 0 then
    redis.call('RPUSH', bell, '1')
  end
end

-- A standing after something was done, by a worker that can.
local function well(standing, worker)
  local others = {}
  for _, other in ipairs(standing.refused_by or {}) do
    if other ~= worker then others[#others + 1] = other end
  end
  standing.failures, standing.empties, standing.detail = 0, 0, ''
  standing.refused_by = others
end

-- Refusals of workers that are gone count no longer. Without any other, the job has a fresh start.
local function strike_off(is_gone)
  for _, found in ipairs(all(standings)) do
    local place, standing, left = found[1], found[2], {}
    local by = standing.refused_by or {}
    for _, worker in ipairs(by) do
      if not is_gone(worker) then left[#left + 1] = worker end
    end
    if #left < #by then
      standing.refused_by = left
      if #left == 0 and standing.why == 'refused' then standing.failures, standing.detail = 0, '' end
      put(standings, place, standing)
    end
  end
end

local function count(e)
  redis.call('LPUSH', ends, pack(e))
  redis.call('LTRIM', ends, 0, bounds.ends - 1)
  local place, pages = e.job .. '\n' .. e.lane, e.pages or 0
  local standing = get(standings, place) or { job = e.job, lane = e.lane }
  if e.why == 'failed' or e.why == 'refused' or (e.why == 'lost' and pages == 0) then
    standing.failures = (standing.failures or 0) + 1
    standing.detail = e.detail or ''
    if e.why == 'refused' then
      local by, is_new = standing.refused_by or {}, true
      for _, other in ipairs(by) do
        if other == e.worker then is_new = false end
      end
      if is_new then by[#by + 1] = e.worker or '' end
      standing.refused_by = by
    end
  elseif pages > 0 or e.why == 'idle' or e.why == 'time' or e.why == 'seeded' then
    local empties = 0
    if e.why == 'idle' and pages == 0 and (e.visits or 0) == 0 then empties = (standing.empties or 0) + 1 end
    well(standing, e.worker)
    standing.empties = empties
  end
  standing.at, standing.why = e.at, e.why
  put(standings, place, standing)
end

local function lose(shift, detail)
  count({ id = shift.id, job = shift.job, lane = shift.lane, why = 'lost', detail = detail,
    pages = shift.pages, worker = shift.worker, at = now, clean = false })
end

-- Now and then: it reads nearly everything.
local function forget()
  if now < tonumber(redis.call('HGET', leader, 'forget_at') or 0) then return end
  redis.call('HSET', leader, 'forget_at', string.format('%.6f', now + bounds.forget_every_s))
  for _, found in ipairs(all(workers)) do
    if (found[2].beat_at or 0) + bounds.gone_s <= now then redis.call('HDEL', workers, found[1]) end
  end
  strike_off(function(worker) return redis.call('HEXISTS', workers, worker) == 0 end)
  redis.call('ZREMRANGEBYSCORE', buried, '-inf', now - bounds.buried_s)
  for _, found in ipairs(all(standings)) do
    if (found[2].at or 0) + bounds.standing_s <= now then redis.call('HDEL', standings, found[1]) end
  end
  for _, found in ipairs(all(samples)) do
    if found[2][#found[2]].at + bounds.standing_s <= now then redis.call('HDEL', samples, found[1]) end
  end
end

local calls = {}

function calls.begin(shift_id, worker_id)
  local shift = get(shifts, shift_id)
  if not shift or shift.state ~= 'asked' or (shift.expires_at or 0) <= now then return false end
  shift.state, shift.worker, shift.began_at, shift.beat_at = 'working', worker_id, now, now
  put(shifts, shift_id, shift)
  return pack(shift)
end

-- What a worker says of one shift; why it shall stop, if it shall.
local function beaten(worker, said)
  local known = get(shifts, said.id) or said
  local is_anothers = (known.worker or '') ~= '' and known.worker ~= worker.id
  if redis.call('ZSCORE', buried, said.id) or known.state == 'lost' or is_anothers then return 'lost' end
  known.state, known.worker, known.beat_at = 'working', worker.id, now
  if (known.began_at or 0) == 0 then known.began_at = now end
  known.pages, known.in_flight = said.pages or 0, said.in_flight or 0
  put(shifts, said.id, known)
  if known.pages > 0 then
    local place = known.job .. '\n' .. known.lane
    local standing = get(standings, place)
    if standing and ((standing.failures or 0) > 0 or (standing.empties or 0) > 0) then
      well(standing, worker.id)
      put(standings, place, standing)
    end
  end
  if worker.state and worker.state ~= 'working' then return 'drained' end
  return known.recalled
end

function calls.beat(packed, ...)
  local worker = unpack_(packed)
  local before = get(workers, worker.id)
  worker.beat_at = now
  put(workers, worker.id, worker)
  if not before or (before.state or 'working') ~= (worker.state or 'working') then ring() end
  local orders = {}
  for _, said in ipairs({ ... }) do
    said = unpack_(said)
    local why = beaten(worker, said)
    if why then
      orders[#orders + 1] = said.id
      orders[#orders + 1] = why
    end
  end
  return orders
end

calls['end'] = function(...)
  for _, e in ipairs({ ... }) do
    e = unpack_(e)
    e.at = now
    local known = get(shifts, e.id)
    redis.call('HDEL', shifts, e.id)
    if known and known.state ~= 'lost' then count(e) end
    if e.clean == false then
      put(shifts, e.id, { id = e.id, job = e.job, lane = e.lane, state = 'lost', worker = e.worker,
        pages = e.pages, beat_at = now })
    else
      redis.call('ZADD', buried, now, e.id)
    end
  end
  ring()
end

function calls.leave(worker_id)
  redis.call('HDEL', workers, worker_id)
  strike_off(function(worker) return worker == worker_id end)
  for _, found in ipairs(all(shifts)) do
    local shift = found[2]
    if shift.worker == worker_id and shift.state == 'working' then
      lose(shift, 'its worker left')
      shift.state = 'lost'
      put(shifts, shift.id, shift)
    end
  end
  ring()
end

function calls.lead(me, ttl_s)
  ttl_s = tonumber(ttl_s)
  local found = redis.call('HMGET', leader, 'me', 'token', 'until', 'fence')
  local is_mine, is_led = found[1] == me, tonumber(found[3] or 0) > now
  if is_led and not is_mine then return false end
  if ttl_s <= 0 then
    redis.call('HDEL', leader, 'me', 'token', 'until')
    return false
  end
  local token = found[2]
  if not (is_mine and is_led) then
    token = string.format('%.0f', math.max(tonumber(found[4] or 0) + 1, math.floor(now * 1000)))
    redis.call('HSET', leader, 'fence', token)
  end
  redis.call('HSET', leader, 'me', me, 'token', token, 'until', string.format('%.6f', now + ttl_s))
  forget()
  return token
end

function calls.join(packed)
  local known = redis.call('GET', store)
  if known and unpack_(known).id ~= unpack_(packed).id then return known end
  if known ~= packed then redis.call('SET', store, packed) end
  return packed
end

function calls.adopt(packed)
  redis.call('SET', store, packed)
  redis.call('DEL', shifts, standings, ends, samples)
end

function calls.forgive(job)
  for _, place in ipairs(redis.call('HKEYS', standings)) do
    if string.sub(place, 1, #job + 1) == job .. '\n' then redis.call('HDEL', standings, place) end
  end
  ring()
end

-- token, how many recalls, their (id, why)..., the shifts
function calls.ask(token, recalls, ...)
  local given, why = { ... }, {}
  local found = redis.call('HMGET', leader, 'token', 'until')
  if found[1] ~= token or tonumber(found[2] or 0) <= now then return 0 end
  for i = 1, 2 * tonumber(recalls), 2 do
    why[given[i]] = given[i + 1]
  end
  for _, known in ipairs(all(shifts)) do
    local shift_id, shift = known[1], known[2]
    if shift.state == 'asked' and (why[shift_id] or (shift.expires_at or 0) <= now) then
      redis.call('HDEL', shifts, shift_id)
    elseif why[shift_id] then
      shift.recalled = why[shift_id]
      put(shifts, shift_id, shift)
    end
  end
  for i = 2 * tonumber(recalls) + 1, #given do
    local shift = unpack_(given[i])
    shift.state, shift.asked_at = 'asked', now
    put(shifts, shift.id, shift)
  end
  return 1
end

function calls.look(history)
  local found = redis.call('HMGET', leader, 'me', 'until')
  local is_led = tonumber(found[2] or 0) > now
  local latest, kept = {}, {}
  if history == '1' then
    latest, kept = redis.call('LRANGE', ends, 0, -1), redis.call('HGETALL', samples)
  end
  return { string.format('%.6f', now), is_led and found[1] or '', redis.call('GET', store) or '', redis.call('HVALS', workers),
    redis.call('HVALS', shifts), redis.call('HVALS', standings), latest, kept }
end

function calls.bury(...)
  for _, shift_id in ipairs({ ... }) do
    local shift = get(shifts, shift_id)
    if shift and shift.state == 'working' then lose(shift, 'its worker is no longer heard from') end
    redis.call('HDEL', shifts, shift_id)
    redis.call('ZADD', buried, now, shift_id)
  end
end

function calls.note(job, sample)
  local kept = get(samples, job) or {}
  kept[#kept + 1] = unpack_(sample)
  if #kept > bounds.samples then table.remove(kept, 1) end
  put(samples, job, kept)
end

calls.ring = ring

return calls[ARGV[1]](unpack(ARGV, 4))
