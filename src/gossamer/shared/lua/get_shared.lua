-- SharedState.get: what is stored (see put_shared.lua), or nothing.

return redis.call('GET', KEYS[1])
