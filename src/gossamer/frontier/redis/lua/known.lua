-- Which fingerprints were accepted. args: {fingerprints, the same as numbers}. 1 or 0 for each.

local found = {}
for i, fingerprint in ipairs(args[1]) do found[i] = is_known(fingerprint, args[2][i]) and 1 or 0 end
return found
