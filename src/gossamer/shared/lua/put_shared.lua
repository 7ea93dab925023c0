-- SharedState.put. KEYS[1] holds the value: when it expires, as a double, then its bytes. KEYS[1]:claim holds
-- when a claim on it ends; it is gone when the value is there. ARGV: what is stored, milliseconds.

redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
redis.call('DEL', KEYS[1] .. ':claim')
return 1
