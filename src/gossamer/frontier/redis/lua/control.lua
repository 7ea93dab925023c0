-- Frontier.apply_change. args: {moves, decided, rules, known_life}. `moves` says which state follows on which, for the
-- shard that decides; the others are given no moves, and are in the `decided` state from now on. Where there is
-- neither, the call is refused. `rules` is false where they stay as they are. Returns 1 if by the new rules other hosts
-- may have room: then every host must be placed anew (place.lua), and until that is done the field `placing` says so;
-- then the server's life, and the job's state before and after: empty if the call was refused. In another life than the
-- known one nothing is done.

local moves, decided, packed, known_life = unpack(args)
local life = life_of_server()
if is_another(life, known_life) then return {0, life, job.state, job.state} end
local state = moves[job.state] or decided
if state == '' then return {0, life, job.state, ''} end
local changes, placing = {}, 0
if state ~= job.state then changes[1], changes[2] = 'state', state end
if packed then
  local new = cmsgpack.unpack(packed)
  if new.per_host ~= rules.per_host or new.max_pages_per_host ~= rules.max_pages_per_host then placing = 1 end
  changes[#changes + 1], changes[#changes + 2] = 'rules', packed
end
if placing == 1 then changes[#changes + 1], changes[#changes + 2] = 'placing', redis.sha1hex(packed) end
if state == 'finished' then -- what was settled needs nothing any more: every link was followed
  for _, reliance in ipairs(call('SMEMBERS', RELIED)) do call('UNLINK', relied_key(reliance)) end
  call('UNLINK', RELIED)
end
if #changes > 0 then call('HSET', META, unpack(changes)) end
return {placing, life, job.state, state}
