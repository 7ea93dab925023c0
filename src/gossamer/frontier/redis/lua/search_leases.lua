-- Look for a fingerprint among the leases. args: {fingerprint, cursor, how many}. Returns where to go on (0: that was
-- all), and the lease that has it with its deadline.

local fingerprint, cursor, size = unpack(args)
local after, rows = unpack(call('HSCAN', LEASES, cursor, 'COUNT', size))
for i = 2, #rows, 2 do
  if string.find(rows[i], fingerprint, 1, true) and sub(read_lease(0, rows[i]).element, 7, 14) == fingerprint then
    return {'0', rows[i], call('ZSCORE', DEADLINES, rows[i - 1]) or '0'}
  end
end
return {after}
