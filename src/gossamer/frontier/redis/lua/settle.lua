-- Frontier.settle. args: {outcomes, jitters, batch, added}: outcomes is flat, OUTCOME values each; the batch (see
-- admit.lua) holds the outlinks of all of them, in order, but for those that were added before this call; `added` says
-- where they went: {seconds since then, SHARD, LIFE, SHARD, LIFE, ...}. Returns for each outcome whether its lease
-- was in force, and how many jitters were used. The outlinks go first, so that a Redis without memory
-- refuses the call as a whole; pages without outlinks still get settled by it.

local OUTCOME = 16 -- token, fingerprint, verdict, reason, due_at, charged, is_page, kind, started_at, latency_s,
-- retry_after_s, robots_read, crawl_delay_s, false or {another lane, the request's text with it, its band there, what
-- is before the text}, number of outlinks in the batch, whether others were added before
local DONE, RETRY, GIVE_UP, REROUTE = 0, 1, 2, 3
local CHARGED, LATER = 1, 2 -- and 3: excused
local KEPT_S = 10 -- a server syncs its file every second, or is delayed by two
local flat, jitters, batch, added = unpack(args)

local tokens, fingerprints = {}, {}
for at = 1, #flat, OUTCOME do
  tokens[#tokens + 1], fingerprints[#fingerprints + 1] = flat[at], flat[at + 1]
end
local held = read_leases(tokens, fingerprints, true)

local answers, counts, ended, link = {}, {}, {}, 0
for i, token in ipairs(tokens) do
  answers[i] = held[i] and 1 or 0
  if held[i] then ended[#ended + 1] = token end
  for _ = 1, flat[i * OUTCOME - 1] do
    link = link + 1
    counts[link] = held[i] ~= false
  end
end
if #batch[3] > 0 then admit(batch, function(n) return counts[n] end) end

-- What the links that were added before rely on: servers that have another file than this one, and lives that have ended.
local reliances = {}
if #added > 1 then
  local life = life_of_server()
  for at = 2, #added, 2 do
    if added[at + 1] ~= '' and added[at + 1] ~= life then reliances[#reliances + 1] = added[at] .. ':' .. added[at + 1] end
  end
end

local relying = {}
local function rely(member)
  for _, reliance in ipairs(reliances) do add_pair(relying, relied_key(reliance), now, member) end
end

end_leases(ended)
local delayed, dead, rerouted, used = {}, {}, {}, 0
for i, answer in ipairs(answers) do
  if answer == 1 then
    local at, lease = (i - 1) * OUTCOME, held[i]
    local h = touch(hosts[lease.host])
    local signal = {
      kind = flat[at + 8], started_at = flat[at + 9], latency_s = flat[at + 10], retry_after_s = flat[at + 11],
      robots_read = flat[at + 12], crawl_delay_s = flat[at + 13],
    }
    local verdict, reason, is_page = flat[at + 3], flat[at + 4], flat[at + 7]
    local is_relying = flat[at + OUTCOME] and verdict ~= RETRY and verdict ~= REROUTE -- they bring the links again
    used = used + 1
    local due_at, attempts, failures, throttled, expiries, _, text_at = tries_of(lease.element)
    settle_host(h, rules, signal, now, is_page, jitters[used], mark_of(lease.element, attempts), failures + throttled)
    if is_page then count.pages = count.pages + 1 end
    if verdict == DONE then
      move('leased', 'done', 1)
      if is_relying then
        rely(cmsgpack.pack({false, is_page, placed_at(lease.element, h, lease.lane, lease.band)}))
      end
    else
      if verdict == RETRY then
        due_at = flat[at + 5]
        if flat[at + 6] == CHARGED then failures = failures + 1 end
        if flat[at + 6] == LATER then throttled = throttled + 1 end
      end
      local stored, text = lease.element, sub(lease.element, text_at)
      if verdict == REROUTE then
        stored, text = sub(stored, 1, 14) .. flat[at + 14][4], flat[at + 14][2]
        if is_ranked(stored) then layout.need(layout.looks_and_ranks) end
      end
      local element = with_tries(
        stored, text, due_at, attempts + 1, failures, throttled, expiries, reason)
      local member = placed_at(element, h, lease.lane, lease.band)
      if verdict == REROUTE then
        rerouted[#rerouted + 1] = {h, numbered_lane(flat[at + 14][1]), flat[at + 14][3], element}
      elseif verdict == RETRY then
        add_pair(delayed, P .. ':d:' .. lease.lane, due_at, member)
        move('leased', 'delayed', 1)
      else
        add_pair(dead, DEAD, now, member)
        move('leased', 'dead', 1)
        if is_relying then rely(cmsgpack.pack({true, is_page, member})) end
      end
    end
  end
end
come_back(rerouted)
move('leased', 'pending', #rerouted)
call_each('ZADD', delayed)
call_each('ZADD', dead)
call_each('ZADD', relying)
if next(relying) then call('SADD', RELIED, unpack(reliances)) end
for key in pairs(relying) do call('ZREMRANGEBYSCORE', key, '-inf', '(' .. exact(now - added[1] - KEPT_S)) end
save_hosts()
save_job()
return {answers, used}
