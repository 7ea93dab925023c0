-- FleetFrontier.redo_lost, for up to ROUND requests. args: {reliance}: a member of RELIED whose server has lost its last
-- second. Makes the requests that were settled in reliance on it pending again. Returns how many, and how many are left.
-- This is no move of the life cycle: it takes back what the shard would have lost with the links, had they been on one
-- server.

local reliance = args[1]
local key = relied_key(reliance)
local members = call('ZRANGE', key, 0, ROUND - 1)
local rows, keys, letters = {}, {}, {}
for i, member in ipairs(members) do
  local is_dead, is_page, placed = unpack(cmsgpack.unpack(member))
  local host, lane, band, element = unplaced(placed)
  rows[i], keys[i] = {host, lane, band, element, is_page = is_page}, host
  if is_dead then letters[i] = placed end
end
load_hosts(keys)
if #members > 0 then -- one that relies on several lives is done again once
  for _, other in ipairs(call('SMEMBERS', RELIED)) do call('ZREM', relied_key(other), unpack(members)) end
end
local back = {}
for i, row in ipairs(rows) do
  local h = touch(hosts[row[1]])
  if not letters[i] or call('ZREM', DEAD, letters[i]) == 1 then -- not yet revived or dropped by a person
    move(letters[i] and 'dead' or 'done', 'pending', 1)
    if row.is_page then
      count.pages, h.pages = count.pages - 1, max(h.pages - 1, 0)
    end
    back[#back + 1] = {h, row[2], row[3], row[4], now}
  end
end
come_back(back)
local left = call('ZCARD', key)
if left == 0 then call('SREM', RELIED, reliance) end
save_hosts()
save_job()
return {#back, left}
