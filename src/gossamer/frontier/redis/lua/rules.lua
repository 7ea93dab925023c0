-- SteeredFrontier.change_rules. args: {rules, expected}: both packed; with `expected` only if those are in force. Returns
-- -1 if they are not, and nothing was changed; 1 if every host must be placed anew (see change_rules); else 0.

local packed, expected = unpack(args)
if expected and call('HGET', META, 'rules') ~= expected then return -1 end
local changes = {}
local placing = change_rules(packed, changes)
call('HSET', META, unpack(changes))
return placing
