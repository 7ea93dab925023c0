-- SharedState.swap: 1 if the value was the expected one and is now the new one. The keys are those of put_shared.lua.
-- ARGV: what is stored, the time as a double, milliseconds, whether a value is expected (1 or 0), that value.

local found = redis.call('GET', KEYS[1])
if found and struct.unpack('<d', found) <= struct.unpack('<d', ARGV[2]) then found = false end
if ARGV[4] == '1' then
  if not found or string.sub(found, 9) ~= ARGV[5] then return 0 end
elseif found then
  return 0
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[3])
redis.call('DEL', KEYS[1] .. ':claim')
return 1
