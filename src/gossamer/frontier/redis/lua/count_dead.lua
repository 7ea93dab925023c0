-- Reasons of dead letters, of so many behind the first ones, the newest first. args: {first, how many, host (empty: any),
-- older_than or false}. Returns how many dead letters there are in all, then each reason and how many fit.

local first, size, name, older_than = unpack(args)
local host = name ~= '' and (call('HGET', NAMES, name) or 'none')
local start = max(first, older_than and call('ZCOUNT', DEAD, exact(older_than), '+inf') or 0)
local number = {}
if start < first + size then
  for _, member in ipairs(call('ZREVRANGE', DEAD, start, first + size - 1)) do
    if not host or sub(member, 7, 10) == host then
      local _, _, _, _, _, reason = tries_of(member, 6)
      number[reason] = (number[reason] or 0) + 1
    end
  end
end
local found = {call('ZCARD', DEAD)}
for reason, count_of in pairs(number) do found[#found + 1], found[#found + 2] = reason, count_of end
return found
