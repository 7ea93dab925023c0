-- Look for a fingerprint in parts of structures, about two thousand elements in all: requests have no index by it, since
-- only people ask. args: {fingerprint, parts}: parts is flat: the key after P, its type (list or zset), first and last
-- rank, where the fingerprint stands in an element. Returns the number of the part, the rank and the element.

local fingerprint, parts = unpack(args)
local find = string.find
for at = 1, #parts, 5 do
  local key, kind, first, last, offset = unpack(parts, at, at + 4)
  for i, element in ipairs(call(kind == 'list' and 'LRANGE' or 'ZRANGE', P .. key, first, last)) do
    if find(element, fingerprint, offset, true) == offset then return {(at - 1) / 5, first + i - 1, element} end
  end
end
return {}
