-- SteeredFrontier.steer_host. args: {name, command, value}: see steer. Returns whether the host is known here.

local name, command, value = unpack(args)
local key = call('HGET', NAMES, name)
if not key then return 0 end
load_hosts({key})
steer(touch(hosts[key]), command, value, rules, now)
save_hosts()
return 1
