-- commit: each cause whole, in order, or not at all; a stale one comes back with every later one that names what it names
-- KEYS  1 players  2 matches  3 parked  4 outbox  5 heads of the outbox  6 leaderboard  7 position  8 horizon
--       9 prizes  10 aliases  11 applied  12 due  13.. windows and lists of hours, as causes name them
-- ARGV  1 this worker run   2 for how many ms behind the horizon records are kept   3 MessagePack of a list of causes
--       4.. bytes that causes name by their place.  A cause is
--   { 1 source  2 instant_ms  3 whether it takes a position
--     4 names: its players and match, and so what it is stale with
--     5 rows {player, version replaced, row, score}                score '' = as it is, '-' = off the leaderboard
--     6 match_id, '' = no record is looked at   7 record version replaced   8 new version, '' = only looked at
--     9 place of the record
--    10 parked version replaced, '*' = not looked at   11 place of what is parked then, 0 = nothing
--    12 window entries {index of the window's key, finished_at_ms, member}
--    13 sources it rests on   14 place of its outbox entry, 0 = nothing to publish
--    15 prize {field, place} or 0   16 link {anonymous id, account id, place} or 0; their rows guard both
--    17 id that must be part of no link, '' = nobody
--    18 index of the list of the hour in which its record, else what it parks, falls due (see prune), 0 = neither }
-- a version is what stands before a value's first space, '' where there is no value
-- returns {a position for each cause, '0' without one, '' for a stale one and '-' for one whose source was settled before,
--          so that somebody has answered it;
--          {source, head, entry, ...} of other runs that these rest on}
-- Long bytes stay as they came wherever they can: every string that Lua makes is hashed whole.

local run, records_kept_ms, causes = ARGV[1], tonumber(ARGV[2]), cmsgpack.unpack(ARGV[3])

-- What the batch finds, and then leaves: every cause is checked against it, and all of it is written at the end, since
-- an error in the middle would undo nothing.
local function fetch(key, fields)
  local found = {}
  for first = 1, #fields, 4000 do
    local last = math.min(first + 3999, #fields)
    local values = redis.call('HMGET', key, unpack(fields, first, last))
    for i = 1, #values do found[fields[first + i - 1]] = values[i] end
  end
  return found
end

local players, matches, parked_of, sources = {}, {}, {}, {}
for _, cause in ipairs(causes) do
  for _, row in ipairs(cause[5]) do players[#players + 1] = row[1] end
  if cause[6] ~= '' then matches[#matches + 1] = cause[6] end
  if cause[10] ~= '*' then parked_of[#parked_of + 1] = cause[6] end
  for _, source in ipairs(cause[13]) do sources[#sources + 1] = source end
end
local rows, records, parked = fetch(KEYS[1], players), fetch(KEYS[2], matches), fetch(KEYS[3], parked_of)
local heads = fetch(KEYS[5], sources)
local horizon = tonumber(redis.call('GET', KEYS[8]) or '0')
local position = tonumber(redis.call('GET', KEYS[7]) or '0')
local position_before = position

-- What may be pruned counts as gone, so that no answer depends on when pruning runs.
local function forget(values, pattern, oldest)
  for id, value in pairs(values) do
    if value and tonumber(string.match(value, pattern)) < oldest then values[id] = nil end
  end
end

forget(records, '^%S+ %S+ (%S+)', horizon - records_kept_ms)
forget(parked, '^%S+ (%S+)', horizon)

local applied = {}

local function is_settled(source)
  local partition, offset = string.match(source, '^(.+)/(%d+)$')
  if not applied[partition] then applied[partition] = tonumber(redis.call('HGET', KEYS[11], partition) or '0') end
  return tonumber(offset) < applied[partition]
end

local function version(value)
  if not value then return '' end
  return string.sub(value, 1, string.find(value, ' ', 1, true) - 1)
end

local stale, links_left = {}, {}

local function is_linked(id)
  return links_left[id] or redis.call('HEXISTS', KEYS[10], id) == 1
end

local function holds(cause)
  for _, name in ipairs(cause[4]) do
    if stale[name] then return false end
  end
  if cause[2] < horizon and (#cause[5] > 0 or cause[8] ~= '' or cause[10] ~= '*') then return false end
  for _, row in ipairs(cause[5]) do
    if version(rows[row[1]]) ~= row[2] then return false end
  end
  if cause[6] ~= '' and version(records[cause[6]]) ~= cause[7] then return false end
  if cause[17] ~= '' and is_linked(cause[17]) then return false end
  return cause[10] == '*' or version(parked[cause[6]]) == cause[10]
end

local scores, heads_left, entries, windows = {}, {}, {}, {}
local rows_left, records_left, parked_left, off, prizes_left = {}, {}, {}, {}, {}
local hours_left, due_left = {}, {}

local function look_at(entry, due_ms, list)
  if not due_left[list] then
    local hour = math.floor(due_ms / 3600000)
    due_left[list], hours_left['h' .. hour] = {}, string.format('%.0f', hour * 3600000)
  end
  due_left[list][#due_left[list] + 1] = entry
end

local function leave(cause)
  local own = '0'
  if cause[3] then
    position = position + 1
    own = string.format('%.0f', position)
  end
  for _, row in ipairs(cause[5]) do
    rows[row[1]], rows_left[row[1]] = row[3], row[3]
    if row[4] == '-' then
      scores[row[1]] = nil
      off[#off + 1] = row[1]
    elseif row[4] ~= '' then
      scores[row[1]] = row[4]
    end
  end
  local match_id = cause[6]
  if cause[8] ~= '' then
    if not records[match_id] then look_at('m' .. match_id, cause[2] + records_kept_ms, cause[18]) end
    local stands_at = records[match_id] and string.match(records[match_id], '^%S+ (%S+)') or own
    records[match_id] = table.concat({cause[8], stands_at, ARGV[cause[9]]}, ' ')
    records_left[match_id] = records[match_id]
  end
  if cause[10] ~= '*' and (cause[11] ~= 0 or parked[match_id]) then
    parked[match_id] = cause[11] ~= 0 and ARGV[cause[11]]
    parked_left[match_id] = parked[match_id]
    if parked[match_id] then look_at('p' .. match_id, cause[2], cause[18]) end
  end
  for _, entry in ipairs(cause[12]) do windows[#windows + 1] = entry end
  if cause[15] ~= 0 then prizes_left[cause[15][1]] = own .. ' ' .. ARGV[cause[15][2]] end
  if cause[16] ~= 0 then
    local link = own .. ' ' .. ARGV[cause[16][3]]
    links_left[cause[16][1]], links_left[cause[16][2]] = link, link
  end
  if cause[14] ~= 0 then
    heads_left[cause[1]] = table.concat({own, run, table.concat(cause[13], ',')}, ' ')
    entries[cause[1]] = ARGV[cause[14]]
  end
  return own
end

local back, seen = {}, {}

local function hand_back(waiting)
  while #waiting > 0 do
    local source = table.remove(waiting)
    local head = not seen[source] and heads[source]
    seen[source] = true
    if head then
      local wrote, below = string.match(head, '^%S+ (%S+) (%S*)')
      if wrote ~= run then
        back[#back + 1] = source
        back[#back + 1] = head
        back[#back + 1] = redis.call('HGET', KEYS[4], source)
        for under in string.gmatch(below, '[^,]+') do
          heads[under] = heads[under] or redis.call('HGET', KEYS[5], under)
          waiting[#waiting + 1] = under
        end
      end
    end
  end
end

local positions = {}
for i, cause in ipairs(causes) do
  local settled = is_settled(cause[1])
  if not settled and holds(cause) then
    positions[i] = leave(cause)
    hand_back(cause[13])
  else
    positions[i] = settled and '-' or ''
    for _, name in ipairs(cause[4]) do stale[name] = true end
  end
end

local function write(command, key, pairs_left, value_first)
  local arguments = {}
  for field, value in pairs(pairs_left) do
    arguments[#arguments + 1] = value_first and value or field
    arguments[#arguments + 1] = value_first and field or value
    if #arguments >= 4000 then
      redis.call(command, key, unpack(arguments))
      arguments = {}
    end
  end
  if #arguments > 0 then redis.call(command, key, unpack(arguments)) end
end

if position > position_before then redis.call('SET', KEYS[7], string.format('%.0f', position)) end
write('HSET', KEYS[1], rows_left)
write('HSET', KEYS[2], records_left)
write('ZADD', KEYS[6], scores, true)
for _, player in ipairs(off) do redis.call('ZREM', KEYS[6], player) end
write('HSET', KEYS[9], prizes_left)
write('HSET', KEYS[10], links_left)
write('HSET', KEYS[4], entries)
write('HSET', KEYS[5], heads_left)
for match_id, value in pairs(parked_left) do
  if value then redis.call('HSET', KEYS[3], match_id, value) else redis.call('HDEL', KEYS[3], match_id) end
end
write('ZADD', KEYS[12], hours_left, true)
for key, due in pairs(due_left) do
  for first = 1, #due, 4000 do redis.call('RPUSH', KEYS[key], unpack(due, first, math.min(first + 3999, #due))) end
end
for _, entry in ipairs(windows) do
  redis.call('ZADD', KEYS[entry[1]], string.format('%.0f', entry[2]), entry[3])
end
return {positions, back}
