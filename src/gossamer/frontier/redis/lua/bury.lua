-- FrontierAdmin.bury_letters, for up to ROUND dead letters. args: {were_dropped, batch, more}: the batch is that of admit.lua,
-- more has four values each: id, attempts, reason, time of death. Those that were dropped come back; of those that were
-- revived the ones that wait, and were not tried since. How many.

local were_dropped, batch, more = unpack(args)

-- The request with an id among those that came back, at the place where it should be.
local function find_back(key, place, id)
  local low, high = call('ZCOUNT', key, '-inf', '(' .. exact(place)), call('ZCOUNT', key, '-inf', exact(place))
  while low < high do
    local middle = floor((low + high) / 2)
    local found = call('ZRANGE', key, middle, middle)[1]
    if id_of(found) == id then return found end
    if id_of(found) < id then low = middle + 1 else high = middle end
  end
  return nil
end

local flat, buried, letters, gone = batch[3], 0, {}, {}
local known, lane_numbers = read_batch(batch)
for at = 1, #flat, FIELDS do
  local n = (at - 1) / FIELDS
  local id, attempts, reason, died_at = unpack(more, 4 * n + 1, 4 * n + 4)
  local h, lane, band = known[flat[at]] and hosts[known[flat[at]]], lane_numbers[flat[at + 1]], flat[at + 2]
  local element = false
  if h and were_dropped then
    if is_known(flat[at + 5] or flat[at + 7], flat[at + 6]) then
      element = pack('>I6', id) .. flat[at + 7]
      if is_ranked(element) then layout.need(layout.looks_and_ranks) end
    end
  elseif h then
    local key = key_of('b', h, lane, band)
    local found = find_back(key, place_of(pack('>I6', id) .. flat[at + 7]), id)
      or find_back(key, id, id) -- the former version knew no ranks
    local _, tried = 0, 1
    if found and sub(found, 7, 14) == sub(flat[at + 7], 1, 8) then _, tried = tries_of(found) end
    if tried == 0 then
      element = found
      add_to(gone, key, found)
      local slot = slot_of(touch(h), lane, band)
      slot[4] = slot[4] - 1
    end
  end
  if element then
    local due_at, _, _, _, _, _, text_at = tries_of(element)
    local member = placed_at(with_tries(element, sub(element, text_at), due_at, attempts, 0, 0, 0, reason), h, lane, band)
    add_pair(letters, DEAD, died_at, member)
    buried = buried + 1
  end
end
call_each('ZADD', letters)
call_each('ZREM', gone)
move(were_dropped and 'done' or 'pending', 'dead', buried)
save_hosts()
save_job()
return buried
