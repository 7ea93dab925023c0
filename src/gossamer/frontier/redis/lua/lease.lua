-- Frontier.lease. args: {lane, limit, ttl_s, owner, known_life, seed}, limit <= ROUND; `seed` is a number in [0, 1) by
-- which delays are drawn. Returns the time of the call, next_at
-- (empty: none), the leases taken back and the new ones: each as two strings, what shown_lease says and the request;
-- and the server's life. In another life than the known one nothing is done.

local lane_name, limit, ttl_s, owner, known_life, seed = unpack(args)
local life = life_of_server()
if is_another(life, known_life) then return {exact(now), '', {}, {}, life} end
local lane = lane_number(lane_name)
local GOLDEN_RATIO = 0.6180339887498949 -- its multiples are spread evenly over [0, 1)

local function overdue()
  if count.leased == 0 then return {} end
  local found, rows = call('ZRANGEBYSCORE', DEADLINES, '-inf', exact(now), 'WITHSCORES', 'LIMIT', 0, ROUND), {}
  for i = 1, #found, 2 do rows[#rows + 1] = {(read('>I6', found[i])), tonumber(found[i + 1])} end
  return rows
end

-- Delayed requests whose time has come wait for their hosts' turns.
local function promote()
  if count.delayed == 0 then return end
  local key = P .. ':d:' .. lane
  local found = call('ZRANGEBYSCORE', key, '-inf', exact(now), 'WITHSCORES', 'LIMIT', 0, ROUND)
  if #found == 0 then return end
  local rows, keys, members = {}, {}, {}
  for i = 1, #found / 2 do
    local host, of_lane, band, element = unplaced(found[2 * i - 1])
    members[i], keys[i], rows[i] = found[2 * i - 1], host, {host, of_lane, band, element, tonumber(found[2 * i])}
  end
  load_hosts(keys)
  for _, row in ipairs(rows) do row[1] = hosts[row[1]] end
  call('ZREM', key, unpack(members))
  come_back(rows)
  move('delayed', 'pending', #rows)
end

-- The first `wanted` hosts in turn: {band, next_at, served, id, host} each, in order.
local function ready(wanted)
  local found = {}
  for band = 0, BANDS - 1 do
    local offset = 0
    while #found < wanted and offset < 2 * ROUND do
      local key, missing = turn_key(lane, band), wanted - #found
      local keys = call('ZRANGEBYSCORE', key, '-inf', exact(now), 'LIMIT', offset, missing)
      load_hosts(keys)
      sharing.ask_others(keys, hosts, rules, now, parse_host)
      for _, host in ipairs(keys) do
        local h = hosts[host]
        if may_start(h, rules, now) then
          found[#found + 1] = {band, h.next_at, 0, (read('>I4', host)), h}
        else
          touch(h) -- the rules have changed, and it has not been placed by them yet; or another job has its turn
          if has_room_beside(h, rules, 0) then sharing.miss_turn(h, rules, now) end
        end
      end
      offset = offset + #keys
      if #keys < missing then break end
    end
  end
  return found
end

local function goes_before(a, b)
  for i = 1, 4 do
    if a[i] ~= b[i] then return a[i] < b[i] end
  end
  return false
end

local function push(heap, item)
  local at = #heap + 1
  heap[at] = item
  while at > 1 do
    local above = floor(at / 2)
    if not goes_before(heap[at], heap[above]) then return end
    heap[at], heap[above] = heap[above], heap[at]
    at = above
  end
end

local function pop(heap)
  local first, size = heap[1], #heap
  heap[1] = heap[size]
  heap[size] = nil
  local at = 1
  while true do
    local least = at
    for below = 2 * at, 2 * at + 1 do
      if heap[below] and goes_before(heap[below], heap[least]) then least = below end
    end
    if least == at then return first end
    heap[at], heap[least] = heap[least], heap[at]
    at = least
  end
end

local function standing_of(h)
  return (is_down(h, rules) and STANDING.DOWN or 0) + (h.answered_at > 0 and STANDING.ANSWERED or 0)
    + (is_suspect(h) and STANDING.SUSPECT or 0) + (is_silent(h) and STANDING.SILENT or 0)
    + (blames_pages(h) and STANDING.BLAMES or 0) + (h.pages == 0 and STANDING.UNHEARD or 0)
    + (h.troubled_since > 0 and STANDING.TROUBLED or 0)
end

-- Whose turn it is, request by request (rulings.in_turn): {host, band, start_by, standing, next_pause_s} each.
-- Hosts that come again stand in a heap beside the ordered ones that have not been served.
local function choose(wanted)
  local hosts_ready, served, at, picks = ready(wanted), {}, 1, {}
  while #picks < wanted do
    local turn = hosts_ready[at]
    if turn and not (served[1] and goes_before(served[1], turn)) then
      at = at + 1
    elseif served[1] then
      turn = pop(served)
    else
      break
    end
    local h, band = touch(turn[5]), turn[1]
    local slot = slot_of(h, lane, band)
    if not slot.size then slot.size, slot.listed, slot.back = 0, slot[3], slot[4] end
    slot.size = slot.size + 1
    if slot[3] > 0 then slot[3] = slot[3] - 1 else slot[4] = slot[4] - 1 end -- `take` sets it right
    picks[#picks + 1] = {h, band, start_by(h, rules, now), standing_of(h), next_pause_s(h, rules), slot}
    grant(h, rules, now, (seed + #picks * GOLDEN_RATIO) % 1)
    sharing.take_turn(h, now, now + ttl_s)
    local next_band = best(h, lane)
    if next_band and h.next_at <= now and has_room(h, rules) then
      push(served, {next_band, h.next_at, turn[3] + 1, turn[4], h})
    end
  end
  return picks
end

-- The first requests of a host's band, where some are not in the list, by their places.
local function merge(listed_key, back_key, slot)
  local listed = call('LRANGE', listed_key, 0, slot.size - 1)
  local back = call('ZRANGE', back_key, 0, slot.size - 1)
  local taken, from_list, from_back = {}, 0, {}
  for i = 1, slot.size do
    local one, other = listed[from_list + 1], back[#from_back + 1]
    if other and (not one or place_of(other) < id_of(one)) then
      from_back[#from_back + 1], taken[i] = other, other
    else
      from_list, taken[i] = from_list + 1, one
    end
  end
  if #from_back > 0 then call('ZREM', back_key, unpack(from_back)) end
  if from_list > 0 then call('LPOP', listed_key, from_list) end
  slot[3], slot[4] = slot.listed - from_list, slot.back - #from_back
  return taken
end

-- Take the chosen requests out of their queues, those of a queue together: {slot -> requests}.
local function take(picks)
  local taken = {}
  for _, pick in ipairs(picks) do
    local h, band, slot = pick[1], pick[2], pick[6]
    if not taken[slot] then
      local key = key_of('q', h, lane, band)
      if slot.back > 0 then
        taken[slot] = merge(key, key_of('b', h, lane, band), slot)
      elseif slot.size == 1 then
        taken[slot] = {call('LPOP', key)}
      else
        taken[slot] = call('LPOP', key, slot.size)
      end
      slot.size = 0 -- from here on: how many of them were handed out
    end
  end
  return taken
end

local function hand_out(wanted)
  local shown = {}
  if job.state ~= 'running' or wanted <= 0 or count.pending == 0 then return shown end
  local picks = choose(wanted)
  if #picks == 0 then return shown end
  local taken, leases, deadlines, deadline = take(picks), {}, {}, now + ttl_s
  local deadline_text = exact(deadline)
  for i, pick in ipairs(picks) do
    local h, band, slot = pick[1], pick[2], pick[6]
    slot.size = slot.size + 1
    local element = taken[slot][slot.size]
    if h.troubled_since ~= 0 then
      local _, attempts = tries_of(element)
      if asks_known(h, attempts) then pick[4] = pick[4] + STANDING.KNOWN end
    end
    local lease = {
      token = count.next_token, granted_at = now, start_by = pick[3], standing = pick[4], pause_s = pick[5],
    }
    count.next_token = count.next_token + 1
    local field = pack('>I6', lease.token)
    leases[2 * i - 1], leases[2 * i] = field,
      pack(LEASE, h.key, lane, band, now, lease.start_by, lease.standing, #owner) .. owner .. element
    deadlines[2 * i - 1], deadlines[2 * i] = deadline_text, field
    shown[2 * i - 1], shown[2 * i] = shown_lease(lease, h, deadline), element
  end
  call('HSET', LEASES, unpack(leases))
  call('ZADD', DEADLINES, 'inf', PAD, unpack(deadlines))
  move('pending', 'leased', #picks)
  return shown
end

local expired = expire(overdue())
local leases = {}
if lane then
  promote()
  save_hosts() -- so that their turns are seen
  leases = hand_out(min(limit, leases_left(lane) or limit))
end
save_hosts()
save_job()
if lane and job.state == 'running' then sharing.register_job(now) end
return {exact(now), known_time(min(first_deadline(), lane and next_in(lane) or math.huge)), expired, leases, life}
