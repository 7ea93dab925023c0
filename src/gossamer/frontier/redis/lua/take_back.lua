-- OwnedFrontier.recover, for up to ROUND leases. args: {tokens}. Ends those in force as expired; what lease.lua tells of
-- them.

local tokens, fields, rows = args[1], {}, {}
for i, token in ipairs(tokens) do fields[i] = pack('>I6', token) end
for i, deadline in ipairs(call('ZMSCORE', DEADLINES, unpack(fields))) do
  if deadline then rows[#rows + 1] = {tokens[i], tonumber(deadline)} end
end
local expired = expire(rows)
save_hosts()
save_job()
return expired
