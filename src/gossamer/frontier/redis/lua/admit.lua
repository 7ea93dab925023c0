-- Accepting requests. `batch` is {hosts, lanes, flat}: names, and FIELDS values a request, of which the first two
-- are indices into those names. Nothing is written before all of it was read; known_once is the first write.

local FIELDS = 8 -- host, lane, band, depth, due_at, what is recorded of one with dont_filter (else false), what is
-- recorded as a number, its stored form after the id
local BITS, HASHES = 65407, 10 -- of one string of the Bloom filter: a prime; 14.4 bits a URL give 0.1 % false positives
local GENERATIONS = 4 -- with seen_ttl_s: what is remembered, the present one included

local function bloom_bits(fingerprint, verb)
  local low, high = read('>I4', fingerprint, 5), read('>I4', fingerprint)
  local step, command = max(high % BITS, 1), {}
  for i = 0, HASHES - 1 do
    local at = #command
    command[at + 1], command[at + 2], command[at + 3] = verb, 'u1', (low + i * step) % BITS
    if verb == 'SET' then command[at + 4] = 1 end
  end
  return command
end

local function in_filter(key, fingerprint, verb)
  if verb == 'SET' and call('EXISTS', key) == 0 then
    call('SET', key, string.rep('\0', ceil(BITS / 8))) -- at once: a string that grows takes twice its size
  end
  for _, bit_was in ipairs(call('BITFIELD', key, unpack(bloom_bits(fingerprint, verb)))) do
    if bit_was == 0 then return false end
  end
  return true
end

local function bucket_of(fingerprint)
  return floor((read('>I4', fingerprint)) * job.buckets / 4294967296)
end

-- Whether a fingerprint is known, without making it so.
local function is_known(fingerprint, number)
  local bucket = bucket_of(fingerprint)
  local keys = {P .. ':s:' .. bucket}
  if job.generation_s then
    local present = floor(now / job.generation_s)
    for age = 0, GENERATIONS - 1 do keys[age + 1] = P .. ':s' .. (present - age) .. ':' .. bucket end
  end
  for _, key in ipairs(keys) do
    if job.dedup == 'bloom' then
      if in_filter(key, fingerprint, 'GET') then return true end
    elseif call('SISMEMBER', key, number) == 1 then
      return true
    end
  end
  return false
end

-- Make a fingerprint known. Whether it was not.
local function know(fingerprint, number)
  if job.generation_s then
    if is_known(fingerprint, number) then return false end
    local key = P .. ':s' .. floor(now / job.generation_s) .. ':' .. bucket_of(fingerprint)
    if job.dedup == 'bloom' then in_filter(key, fingerprint, 'SET') else call('SADD', key, number) end
    call('EXPIRE', key, ceil(job.generation_s * (GENERATIONS + 1)))
    return true
  end
  local key = P .. ':s:' .. bucket_of(fingerprint)
  if job.dedup == 'bloom' then return not in_filter(key, fingerprint, 'SET') end
  return call('SADD', key, number) == 1
end

local function read_batch(batch)
  local names, known, keys = batch[1], {}, {}
  if #names > 0 then
    for i, key in ipairs(call('HMGET', NAMES, unpack(names))) do
      if key then
        known[i] = key
        keys[#keys + 1] = key
      end
    end
    load_hosts(keys)
  end
  local numbers = {}
  for i, name in ipairs(batch[2]) do numbers[i] = numbered_lane(name) end
  return known, numbers
end

-- Take in what is new and not too deep; `wanted(n)` says whether the n-th request counts at all. accepted, duplicates,
-- too deep.
local function admit(batch, wanted)
  local flat, accepted, duplicates, too_deep = batch[3], 0, 0, 0
  local known, lane_numbers = read_batch(batch)
  local pushes, ranked, later, fresh, new_hosts = {}, {}, {}, {}, {}
  for at = 1, #flat, FIELDS do
    local n = (at - 1) / FIELDS + 1
    if wanted and not wanted(n) then
      -- its outcome is stale
    elseif rules.max_depth and flat[at + 3] > rules.max_depth then
      too_deep = too_deep + 1
    else
      local stored = flat[at + 7]
      local again = flat[at + 5]
      if not know(again or stored, flat[at + 6]) and not again then
        duplicates = duplicates + 1
      else
        accepted = accepted + 1
        local index, lane, band, due_at = flat[at], lane_numbers[flat[at + 1]], flat[at + 2], flat[at + 4]
        local h = known[index] and hosts[known[index]]
        if not h then
          h = touch(new_host(batch[1][index]))
          known[index] = h.key
          fresh[#fresh + 1], fresh[#fresh + 2] = h.name, h.key
          new_hosts[#new_hosts + 1] = h
        end
        local element = pack('>I6', count.next_id) .. stored
        if is_ranked(element) then layout.need(layout.looks_and_ranks) end
        count.next_id = count.next_id + 1
        if due_at > now then
          add_pair(later, P .. ':d:' .. lane, due_at, placed_at(element, h, lane, band))
          move(nil, 'delayed', 1)
        else
          if not has_waiting(h) then begin_waiting(h, now) end
          local slot = slot_of(touch(h), lane, band)
          if is_ranked(element) then
            add_pair(ranked, key_of('b', h, lane, band), place_of(element), element)
            slot[4] = slot[4] + 1
          else
            add_to(pushes, key_of('q', h, lane, band), element)
            slot[3] = slot[3] + 1
          end
          move(nil, 'pending', 1)
        end
      end
    end
  end
  if #fresh > 0 then
    call('HSET', NAMES, unpack(fresh))
    sharing.join_hosts(new_hosts, rules, now)
  end
  call_each('RPUSH', pushes)
  call_each('ZADD', ranked)
  call_each('ZADD', later)
  count.duplicates = count.duplicates + duplicates
  count.too_deep = count.too_deep + too_deep
  return accepted, duplicates, too_deep
end
