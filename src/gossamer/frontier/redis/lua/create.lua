-- Make a shard of a job, unless it is there. KEYS[1] is P of library.lua; ARGV are the fields of P:meta.

local meta = KEYS[1] .. ':meta'
if redis.call('EXISTS', meta) == 0 then
  redis.call(
    'HSET', meta, 'pending', 0, 'delayed', 0, 'leased', 0, 'done', 0, 'dead', 0, 'pages', 0, 'duplicates', 0,
    'too_deep', 0, 'hosts', 0, 'next_id', 1, 'next_token', 1, unpack(ARGV))
end
return 1
