-- Frontier.control. args: {state, rules}, each false to be left as it is. Returns 1 if by the new rules other hosts may
-- have room: then every host must be placed anew (place.lua), and until that is done the field `placing` says so.

local state, packed = unpack(args)
local changes, placing = {}, 0
if state then changes[1], changes[2] = 'state', state end
if packed then
  local new = cmsgpack.unpack(packed)
  if new.per_host ~= rules.per_host or new.max_pages_per_host ~= rules.max_pages_per_host then placing = 1 end
  changes[#changes + 1], changes[#changes + 2] = 'rules', packed
end
if placing == 1 then changes[#changes + 1], changes[#changes + 2] = 'placing', redis.sha1hex(packed) end
if #changes > 0 then call('HSET', META, unpack(changes)) end
return placing
