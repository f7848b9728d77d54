-- load: everything a batch needs, at one instant
-- KEYS  1 players  2 matches  3 parked  4 outbox  5 applied  6 horizon  7 position  8.. a window for each query
-- ARGV  five lists, each led by its length: player ids, match ids, sources, partitions; then window_ms and, for each
--       window, finished_at_ms and match_id
-- returns {rows, records, parked, outbox {source, entry, ...} with all that these rest on, applied, horizon, position,
--         counts of games in [finished_at - window, finished_at), equal instants by the bytes of match_id}

local at = 0

local function take_list()
  local length = tonumber(ARGV[at + 1])
  local list = {}
  for i = 1, length do list[i] = ARGV[at + 1 + i] end
  at = at + 1 + length
  return list
end

local function fetch(key, fields)
  local values = {}
  for first = 1, #fields, 4000 do
    local last = math.min(first + 3999, #fields)
    local part = redis.call('HMGET', key, unpack(fields, first, last))
    for i = 1, #part do values[#values + 1] = part[i] end
  end
  return values
end

local function comes_before(left, right)
  local length = math.min(#left, #right)
  for i = 1, length do
    local a, b = string.byte(left, i), string.byte(right, i)
    if a ~= b then return a < b end
  end
  return #left < #right
end

local function with_what_they_rest_on(sources)
  local found, seen, waiting = {}, {}, {}
  local entries = redis.call('HLEN', KEYS[4]) > 0 and fetch(KEYS[4], sources) or {}
  for i, source in ipairs(sources) do
    if entries[i] and not seen[source] then
      seen[source] = true
      waiting[#waiting + 1] = {source, entries[i]}
    end
  end
  while #waiting > 0 do
    local source, entry = unpack(table.remove(waiting))
    found[#found + 1] = source
    found[#found + 1] = entry
    local rests = string.match(entry, '^%S+ %S+ (%S*) ')
    for below in string.gmatch(rests, '[^,]+') do
      if not seen[below] then
        seen[below] = true
        local under = redis.call('HGET', KEYS[4], below)
        if under then waiting[#waiting + 1] = {below, under} end
      end
    end
  end
  return found
end

local players, matches, sources, partitions = take_list(), take_list(), take_list(), take_list()
local rows = fetch(KEYS[1], players)
local records = fetch(KEYS[2], matches)
local parked = redis.call('HLEN', KEYS[3]) > 0 and fetch(KEYS[3], matches) or {}
local outbox = with_what_they_rest_on(sources)
local applied = fetch(KEYS[5], partitions)

local games = {}
local window_ms = tonumber(ARGV[at + 1])
at = at + 1
for i = 8, #KEYS do
  local finished_at, match_id = ARGV[at + 1], ARGV[at + 2]
  at = at + 2
  local count = redis.call('ZCOUNT', KEYS[i], string.format('%.0f', finished_at - window_ms), '(' .. finished_at)
  for _, other in ipairs(redis.call('ZRANGEBYSCORE', KEYS[i], finished_at, finished_at)) do
    if comes_before(other, match_id) then count = count + 1 end
  end
  games[#games + 1] = count
end

return {rows, records, parked, outbox, applied,
        redis.call('GET', KEYS[6]) or '0', redis.call('GET', KEYS[7]) or '0', games}
