-- Frontier.stats: state, next_at, whether max_pages is reached, whether all seeds are in, then the counters in COUNTERS'
-- order. The states that have a structure of their own are counted from it.

local row = {
  job.state, next_at(1, #lanes), rules.max_pages and count.pages >= rules.max_pages and 1 or 0,
  call('HEXISTS', META, 'seeded'),
}
count.leased, count.dead, count.delayed = call('HLEN', LEASES), call('ZCARD', DEAD), 0
for lane = 1, #lanes do count.delayed = count.delayed + call('ZCARD', P .. ':d:' .. lane) end
for i, name in ipairs(COUNTERS) do row[i + 4] = count[name] end
return row
