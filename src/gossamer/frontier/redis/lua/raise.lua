-- FrontierAdmin.raise_requests, for requests that were found in one structure. args: {host, key after P, its type (list or
-- zset), lane, band, rows}: rows has five values each: the element, the rank at which it was found, and what it becomes: its
-- band, what stands before its text, and its text. How many were raised: those that are not there any more are not.

local name, tail, kind, lane, band, rows = unpack(args)
local key, is_delayed, is_list, host = P .. tail, sub(tail, 1, 3) == ':d:', kind == 'list', call('HGET', NAMES, name)
if not host then return 0 end

-- Where it is now: what is taken out of a list moves the others ahead, and ids rise along it.
local function place_in_list(element, rank)
  if call('LINDEX', key, rank) == element then return rank end
  local low, high = 0, min(rank, call('LLEN', key)) - 1
  while low <= high do
    local middle = floor((low + high) / 2)
    local found = call('LINDEX', key, middle)
    if found == element then return middle end
    if id_of(found) < id_of(element) then low = middle + 1 else high = middle - 1 end
  end
  return nil
end

local function raised(element, head, text)
  local due_at, attempts, failures, throttled, expiries, reason = tries_of(element)
  local has_tries = string.byte(element, 15) % 2 == 1
  element = sub(element, 1, 14) .. head
  if is_ranked(element) then layout.need(layout.looks_and_ranks) end
  if not has_tries then return element .. text end
  return with_tries(element, text, due_at, attempts, failures, throttled, expiries, reason)
end

-- An empty mark takes each element's place, and all marks go together: one by one, each would cost a walk along the list.
local function take_out(elements, places)
  if not is_list then return call('ZREM', key, unpack(elements)) end
  for _, place in ipairs(places) do call('LSET', key, place, '') end
  table.sort(places)
  local is_near_end = places[1] >= call('LLEN', key) - 1 - places[#places]
  call('LREM', key, is_near_end and -#places or #places, '')
end

load_hosts({host})
local h, found, places, come = hosts[host], {}, {}, {}
for at = 1, #rows, 5 do
  local element, rank, to, head, text = unpack(rows, at, at + 4)
  local place = is_list and place_in_list(element, rank) or not is_list and call('ZSCORE', key, element)
  if place then
    local n = #found + 1
    found[n], places[n] = element, place
    if is_delayed then
      local _, of_lane, _, stored = unplaced(element)
      add_pair(come, key, place, placed_at(raised(stored, head, text), h, of_lane, to))
    else
      come[n] = {h, lane, to, raised(element, head, text)}
    end
  end
end
if #found == 0 then return 0 end
if is_delayed then
  call_each('ZADD', come)
else
  come_back(come)
  local slot, counter = slot_of(touch(h), lane, band), is_list and 3 or 4
  slot[counter] = slot[counter] - #found
end
take_out(found, places)
save_hosts()
save_job()
return #found
