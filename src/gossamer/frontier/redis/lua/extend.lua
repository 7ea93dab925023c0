-- Frontier.extend. args: {tokens, fingerprints, ttl_s}; a ttl_s of false only asks. Returns for each token whether its
-- lease is in force.

local tokens, fingerprints, ttl_s = unpack(args)
local held, answers, deadlines = read_leases(tokens, fingerprints), {}, {}
for i, token in ipairs(tokens) do
  answers[i] = held[i] and 1 or 0
  if held[i] and ttl_s then
    add_pair(deadlines, DEADLINES, now + ttl_s, pack('>I6', token))
    if sharing.is_shared(now) then sharing.keep_lease(touch(hosts[held[i].host]), now + ttl_s) end
  end
end
call_each('ZADD', deadlines)
save_hosts()
return answers
