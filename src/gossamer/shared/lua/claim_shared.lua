-- SharedState.claim: 1 if nobody holds it. The keys are those of put_shared.lua. ARGV: the time, when the claim ends
-- (both as doubles), milliseconds.

local claim = KEYS[1] .. ':claim'
local held = redis.call('GET', claim)
if held and struct.unpack('<d', held) > struct.unpack('<d', ARGV[1]) then return 0 end
redis.call('SET', claim, ARGV[2], 'PX', ARGV[3])
return 1
