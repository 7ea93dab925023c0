-- Look for fingerprints in parts of structures, about two thousand elements in all: requests have no index by them, since
-- only people ask. args: {fingerprints, parts}: parts is flat: the key after P, its type (list or zset), first and last
-- rank, where the fingerprint stands in an element. Returns for each that is found the number of the part, the rank and
-- the element.

local fingerprints, parts = unpack(args)
local wanted, found = {}, {}
for _, fingerprint in ipairs(fingerprints) do wanted[fingerprint] = true end
for at = 1, #parts, 5 do
  local key, kind, first, last, offset = unpack(parts, at, at + 4)
  for i, element in ipairs(call(kind == 'list' and 'LRANGE' or 'ZRANGE', P .. key, first, last)) do
    if wanted[sub(element, offset, offset + 7)] then
      local size = #found
      found[size + 1], found[size + 2], found[size + 3] = (at - 1) / 5, first + i - 1, element
    end
  end
end
return found
