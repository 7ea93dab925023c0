-- Where a request may be, if it is known at all. args: {fingerprint, the same as a number, host, tried_at, what is
-- recorded of one with dont_filter, the same as a number}: before that time it neither died nor was due. Returns nothing
-- when it was never accepted; else its host (empty: nothing ever waited for that), how many leases there are, and of
-- P:dead and each P:d:L the first rank of that time, and the size.

local fingerprint, number, host, tried_at, again, again_number = unpack(args)
if not (is_known(fingerprint, number) or is_known(again, again_number)) then return {} end
local key = call('HGET', NAMES, host)
local found = {key and call('HGET', HOSTS, key) or '', call('HLEN', LEASES)}
for lane = 0, #lanes do
  local set = lane == 0 and DEAD or P .. ':d:' .. lane
  found[#found + 1] = call('ZCOUNT', set, '-inf', '(' .. exact(tried_at))
  found[#found + 1] = call('ZCARD', set)
end
return found
