-- load: everything a batch needs, at one instant
-- KEYS  1 players  2 matches  3 parked  4 outbox  5 heads of the outbox  6 applied  7 horizon  8 position
--       9 prizes  10 aliases  11.. the window of each game asked for
-- ARGV  1 MessagePack {player ids, match ids, sources, partitions, window_ms,
--         games {{index of its player, finished_at_ms, match_id}, ...}, fields of prizes}
-- returns {rows, records, parked, outbox {source, head, entry, ...} with all that these rest on, applied, horizon, position,
--         counts of games in [finished_at - window, finished_at), equal instants by the bytes of match_id, prizes,
--         {player id, its link, its account's row or '', ...}}

local players, matches, sources, partitions, window_ms, games, prizes = unpack(cmsgpack.unpack(ARGV[1]))

local function fetch(key, fields)
  local values = {}
  for first = 1, #fields, 4000 do
    local last = math.min(first + 3999, #fields)
    local part = redis.call('HMGET', key, unpack(fields, first, last))
    for i = 1, #part do values[first + i - 1] = part[i] end
  end
  return values
end

local function fetch_if_any(key, fields)
  if redis.call('HLEN', key) == 0 then return {} end
  return fetch(key, fields)
end

local function comes_before(left, right)
  for i = 1, math.min(#left, #right) do
    local a, b = string.byte(left, i), string.byte(right, i)
    if a ~= b then return a < b end
  end
  return #left < #right
end

local function with_what_they_rest_on()
  local found, seen, waiting = {}, {}, {}
  local heads = fetch_if_any(KEYS[5], sources)
  for i, source in ipairs(sources) do
    if heads[i] then waiting[#waiting + 1] = {source, heads[i]} end
  end
  while #waiting > 0 do
    local source, head = unpack(table.remove(waiting))
    if head and not seen[source] then
      seen[source] = true
      found[#found + 1] = source
      found[#found + 1] = head
      found[#found + 1] = redis.call('HGET', KEYS[4], source)
      for below in string.gmatch(string.match(head, '^%S+ %S+ (%S*)'), '[^,]+') do
        waiting[#waiting + 1] = {below, redis.call('HGET', KEYS[5], below)}
      end
    end
  end
  return found
end

local function count_before(window, finished_at, match_id)
  local from, at = string.format('%.0f', finished_at - window_ms), string.format('%.0f', finished_at)
  local count = redis.call('ZCOUNT', window, from, '(' .. at)
  for _, other in ipairs(redis.call('ZRANGEBYSCORE', window, at, at)) do
    if comes_before(other, match_id) then count = count + 1 end
  end
  return count
end

local function linked()
  local found = {}
  local links = fetch_if_any(KEYS[10], players)
  for i, player in ipairs(players) do
    if links[i] then
      local link = cmsgpack.unpack(string.sub(links[i], string.find(links[i], ' ', 1, true) + 1))
      found[#found + 1] = player
      found[#found + 1] = links[i]
      found[#found + 1] = redis.call('HGET', KEYS[1], link[2]) or ''
    end
  end
  return found
end

local rows = fetch(KEYS[1], players)
local counts = {}
for i, game in ipairs(games) do
  -- A player without a row has no window.
  counts[i] = rows[game[1]] and count_before(KEYS[10 + i], game[2], game[3]) or 0
end

return {rows, fetch(KEYS[2], matches), fetch_if_any(KEYS[3], matches), with_what_they_rest_on(),
        fetch(KEYS[6], partitions), redis.call('GET', KEYS[7]) or '0', redis.call('GET', KEYS[8]) or '0', counts,
        fetch(KEYS[9], prizes), linked()}
