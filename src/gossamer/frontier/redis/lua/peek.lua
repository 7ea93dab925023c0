-- For a job with several shards: whose turns come first in this one. args: {lane, limit}. Band and time of up to
-- `limit` hosts that may start now.

local lane, limit = lane_number(args[1]), args[2]
local turns = {}
if lane and job.state == 'running' and count.delayed > 0 then
  local due = call('ZRANGEBYSCORE', P .. ':d:' .. lane, '-inf', exact(now), 'LIMIT', 0, limit)
  for _, member in ipairs(due) do
    local _, _, band = unplaced(member)
    turns[#turns + 1], turns[#turns + 2] = band, exact(now)
  end
end
if lane and job.state == 'running' and count.pending > 0 then
  for band = 0, BANDS - 1 do
    local missing = limit - #turns / 2
    if missing <= 0 then break end
    local rows = call('ZRANGEBYSCORE', turn_key(lane, band), '-inf', exact(now), 'WITHSCORES', 'LIMIT', 0, missing)
    for i = 2, #rows, 2 do turns[#turns + 1], turns[#turns + 2] = band, rows[i] end
  end
end
return turns
