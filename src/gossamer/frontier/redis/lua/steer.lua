-- SteeredFrontier.steer_host. args: {name, command, value}: see steer. Returns the host as it was before; nothing for one
-- that is not known here.

local name, command, value = unpack(args)
local key = call('HGET', NAMES, name)
if not key then return '' end
local before = call('HGET', HOSTS, key)
load_hosts({key})
steer(touch(hosts[key]), command, value, rules, now)
save_hosts()
return before
