-- FrontierAdmin.raise_requests, for one request that was found. args: {host, key after P, its type (list or zset), element,
-- lane, band; then what it becomes: its band, what stands before its text, and its text}. 1, or 0 if it is not there any more.

local name, tail, kind, element, lane, band, to, head, text = unpack(args)
local key, is_delayed = P .. tail, sub(tail, 1, 3) == ':d:'
local score = nil
if kind == 'zset' then score = call('ZSCORE', key, element) else score = call('LPOS', key, element) end
local host = call('HGET', NAMES, name)
if not score or not host then return 0 end

local stored = element
if is_delayed then
  local _
  _, lane, band, stored = unplaced(element)
end
local due_at, attempts, failures, throttled, expiries, reason = tries_of(stored)
local has_tries = string.byte(stored, 15) % 2 == 1
stored = sub(stored, 1, 14) .. head
if has_tries then
  stored = with_tries(stored, text, due_at, attempts, failures, throttled, expiries, reason)
else
  stored = stored .. text
end
if is_ranked(stored) then layout.need(layout.looks_and_ranks) end

load_hosts({host})
local h = hosts[host]
if is_delayed then
  call('ZADD', key, score, placed_at(stored, h, lane, to))
  call('ZREM', key, element)
else
  come_back({{h, lane, to, stored}})
  local slot, place = slot_of(touch(h), lane, band), kind == 'list' and 3 or 4
  slot[place] = slot[place] - 1
  if kind == 'list' then call('LREM', key, 1, element) else call('ZREM', key, element) end
  save_hosts()
end
save_job()
return 1
