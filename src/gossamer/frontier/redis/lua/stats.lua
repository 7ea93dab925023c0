-- Frontier.stats: state, the first deadline, the lanes on which something waits, each with the time when it may be
-- leased next, whether max_pages is reached and nothing is left to extract, whether all seeds are in, then the counters in
-- COUNTERS' order. The states that have a structure of their own are counted from it.

local function is_spent()
  if not rules.max_pages or count.pages < rules.max_pages then return 0 end
  local extracting = lane_number('extract')
  return extracting and waits_in(extracting) < math.huge and 0 or 1
end

local times = {}
for lane = 1, #lanes do
  local at = next_in(lane)
  if at < math.huge then times[#times + 1], times[#times + 2] = lanes[lane], exact(at) end
end
local row = {
  job.state, known_time(first_deadline()), times, is_spent(),
  call('HEXISTS', META, 'seeded'),
}
count.leased, count.dead, count.delayed = call('HLEN', LEASES), call('ZCARD', DEAD), 0
for lane = 1, #lanes do count.delayed = count.delayed + call('ZCARD', P .. ':d:' .. lane) end
for i, name in ipairs(COUNTERS) do row[i + 5] = count[name] end
return row
