-- FrontierDesk.revive and drop, for up to ROUND dead letters. args: {verb, members of P:dead}. How many there were.
-- The verb wake, with the moves of REOPEN for members, lets a finished job run again: some were revived, maybe on
-- another shard.

local verb, members, found, keys = args[1], args[2], {}, {}
if verb == 'wake' then
  local state = members[job.state]
  if state ~= job.state then call('HSET', META, 'state', state) end
  return 0
end
for i, score in ipairs(call('ZMSCORE', DEAD, unpack(members))) do
  if score then
    found[#found + 1] = members[i]
    keys[#keys + 1] = (unplaced(members[i]))
  end
end
if #found == 0 then return 0 end
load_hosts(keys)
call('ZREM', DEAD, unpack(found))
if verb == 'drop' then
  move('dead', 'done', #found)
else
  local back = {}
  for i, member in ipairs(found) do
    local host, lane, band, element = unplaced(member)
    local due_at, _, _, _, _, _, text_at = tries_of(element)
    forgive(hosts[host])
    back[i] = {hosts[host], lane, band, with_tries(element, sub(element, text_at), due_at, 0, 0, 0, 0, ''), now}
  end
  come_back(back)
  move('dead', 'pending', #found)
end
save_hosts()
save_job()
return #found
