-- FrontierAdmin.count_due. args: {DUE_HOSTS}. For each lane in which something may start: its name, how many requests,
-- since when the first of them could, and whether more hosts wait than were looked at.

local most, found = args[1], {}
if job.state ~= 'running' then return found end

-- The keys of the first hosts in turn, and how many there are.
local function hosts_in_turn(lane)
  local keys, number = {}, 0
  for band = 0, BANDS - 1 do
    local key = turn_key(lane, band)
    number = number + call('ZCOUNT', key, '-inf', exact(now))
    if #keys < most then
      for _, host in ipairs(call('ZRANGEBYSCORE', key, '-inf', exact(now), 'LIMIT', 0, most - #keys)) do
        keys[#keys + 1] = host
      end
    end
  end
  return keys, number
end

-- Of the first delayed requests that are due: by host how many and since when; and how many were looked at.
local function requests_come_due(lane)
  local rows, number, first = call(
    'ZRANGEBYSCORE', P .. ':d:' .. lane, '-inf', exact(now), 'WITHSCORES', 'LIMIT', 0, most), {}, {}
  for i = 1, #rows, 2 do
    local host = unplaced(rows[i])
    number[host] = (number[host] or 0) + 1
    first[host] = first[host] or tonumber(rows[i + 1])
  end
  return number, first, #rows / 2
end

local function count_lane(lane)
  local keys, in_turn = hosts_in_turn(lane)
  local requests, since = in_turn - #keys, math.huge
  local due, first, looked_at, listed = {}, {}, 0, {}
  if count.delayed > 0 then due, first, looked_at = requests_come_due(lane) end
  for _, key in ipairs(keys) do listed[key] = true end
  for key in pairs(due) do
    if not listed[key] then keys[#keys + 1] = key end
  end
  load_hosts(keys)
  for _, key in ipairs(keys) do
    local h, pending = hosts[key], 0
    for _, slot in ipairs(h.waiting) do
      if slot[1] == lane then pending = pending + slot[3] + slot[4] end
    end
    local free = startable(h, rules, pending + (due[key] or 0), now)
    if free > 0 then
      requests = requests + free
      since = min(since, pending > 0 and ready_since(h) or max(ready_since(h), first[key]))
    end
  end
  if requests > 0 then
    local has_more = in_turn > most or looked_at >= most
    found[#found + 1] = {
      lanes[lane], min(requests, leases_left(lane) or requests), since < math.huge and exact(since) or '',
      has_more and 1 or 0,
    }
  end
end

for lane = 1, #lanes do
  if leases_left(lane) ~= 0 then count_lane(lane) end
end
return found
