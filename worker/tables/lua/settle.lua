-- settle: take published entries out of the outbox and move the markers of their partitions; all of it or nothing
-- KEYS  1 outbox  2 heads of the outbox  3 applied  4 timestamps
-- ARGV  number of entries, (source, partition, offset);  then for each partition:
--       partition, offset the worker knows it had reached, next offset, newest record timestamp in ms, offset from which
--       on the worker has read everything
-- returns {} or what shows that Redis lost writes: {'behind', partition, applied, believed} or {'gone', partition, offset};
--         or that the worker skipped some of the log: {'hole', partition, applied, offset read from}

local at = 1
local entries = {}
for i = 1, tonumber(ARGV[1]) do
  entries[i] = {ARGV[at + 1], ARGV[at + 2], tonumber(ARGV[at + 3])}
  at = at + 3
end
local markers = {}
while at < #ARGV do
  markers[#markers + 1] = {ARGV[at + 1], tonumber(ARGV[at + 2]), ARGV[at + 3], ARGV[at + 4], tonumber(ARGV[at + 5])}
  at = at + 5
end

local applied = {}
local function applied_of(partition)
  if not applied[partition] then applied[partition] = tonumber(redis.call('HGET', KEYS[3], partition) or '0') end
  return applied[partition]
end

for _, marker in ipairs(markers) do
  if applied_of(marker[1]) < marker[2] then
    return {'behind', marker[1], string.format('%.0f', applied_of(marker[1])), string.format('%.0f', marker[2])}
  end
  if applied_of(marker[1]) < marker[5] then
    return {'hole', marker[1], string.format('%.0f', applied_of(marker[1])), string.format('%.0f', marker[5])}
  end
end
for _, entry in ipairs(entries) do
  if applied_of(entry[2]) <= entry[3] and redis.call('HEXISTS', KEYS[1], entry[1]) == 0 then
    return {'gone', entry[2], string.format('%.0f', entry[3])}
  end
end

for first = 1, #entries, 4000 do
  local sources = {}
  for i = first, math.min(first + 3999, #entries) do sources[#sources + 1] = entries[i][1] end
  redis.call('HDEL', KEYS[1], unpack(sources))
  redis.call('HDEL', KEYS[2], unpack(sources))
end
for _, marker in ipairs(markers) do
  if tonumber(marker[3]) > applied_of(marker[1]) then redis.call('HSET', KEYS[3], marker[1], marker[3]) end
  if tonumber(marker[4]) > tonumber(redis.call('HGET', KEYS[4], marker[1]) or '-1') then
    redis.call('HSET', KEYS[4], marker[1], marker[4])
  end
end
return {}
