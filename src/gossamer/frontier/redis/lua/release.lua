-- Frontier.release. args: {leases, jitters}: leases is flat, RELEASED values each. Returns how many jitters were used.

local RELEASED = 8 -- token, fingerprint, kind, started_at, latency_s, retry_after_s, robots_read, crawl_delay_s
local flat, jitters = unpack(args)

local tokens, fingerprints = {}, {}
for at = 1, #flat, RELEASED do
  tokens[#tokens + 1], fingerprints[#fingerprints + 1] = flat[at], flat[at + 1]
end
local held, ended, back = read_leases(tokens, fingerprints, true), {}, {}
for i, token in ipairs(tokens) do
  local lease, at = held[i], (i - 1) * RELEASED
  if lease then
    local h = touch(hosts[lease.host])
    local signal = {
      kind = flat[at + 3], started_at = flat[at + 4], latency_s = flat[at + 5], retry_after_s = flat[at + 6],
      robots_read = flat[at + 7], crawl_delay_s = flat[at + 8],
    }
    ended[#ended + 1] = token
    back[#back + 1] = {h, lease.lane, lease.band, lease.element}
    local _, attempts = tries_of(lease.element)
    settle_host(h, rules, signal, now, false, jitters[#ended], mark_of(lease.element, attempts))
  end
end
end_leases(ended)
come_back(back)
move('leased', 'pending', #ended)
save_hosts()
save_job()
return #ended
