-- commit: each cause whole, in order, or not at all; a stale one comes back with every later one that names what it names
-- KEYS  1 players  2 matches  3 parked  4 outbox  5 leaderboard  6 position  7 horizon  8.. windows, as causes name them
-- ARGV  1 this worker run, then for each cause:
--   source, instant_ms, '1' if it takes a position
--   number of names, names                                        players and match: what it is stale with
--   number of rows, (player, version replaced, row, score)        score '' = not on the leaderboard
--   match_id, record version replaced, new version, rest          new version '' = only checked; match_id '' = not even that
--   parked version replaced, new value                            version '*' = not checked; value '' = removed, '=' = kept
--   number of window entries, (index of the window's key, finished_at_ms, member)
--   number of sources it rests on, sources
--   outbox entry                                                  '' = nothing to publish
-- a version is what stands before a value's first space, '' where there is no value
-- returns {a position for each cause, '0' without one and '' for a stale one;
--          outbox {source, entry, ...} of other runs that these rest on}

local run = ARGV[1]
local at = 1
local horizon = tonumber(redis.call('GET', KEYS[7]) or '0')

local function take()
  at = at + 1
  return ARGV[at]
end

local function take_tuples(width)
  local list = {}
  for i = 1, tonumber(take()) do
    local tuple = {}
    for field = 1, width do tuple[field] = take() end
    list[i] = tuple
  end
  return list
end

local function take_cause()
  local cause = {source = take(), instant = tonumber(take()), takes_position = take() == '1'}
  cause.names = take_tuples(1)
  cause.rows = take_tuples(4)
  cause.match_id, cause.record_replaced, cause.record_version, cause.record = take(), take(), take(), take()
  cause.parked_replaced, cause.parked = take(), take()
  cause.windows = take_tuples(3)
  cause.rests_on = take_tuples(1)
  cause.entry = take()
  return cause
end

local function version(value)
  if not value then return '' end
  return string.sub(value, 1, string.find(value, ' ', 1, true) - 1)
end

local stale = {}

local function holds(cause)
  for _, name in ipairs(cause.names) do
    if stale[name[1]] then return false end
  end
  if cause.instant < horizon and (#cause.rows > 0 or cause.record_version ~= '' or cause.parked_replaced ~= '*') then
    return false
  end
  for _, row in ipairs(cause.rows) do
    if version(redis.call('HGET', KEYS[1], row[1])) ~= row[2] then return false end
  end
  if cause.match_id ~= '' then
    cause.record_now = redis.call('HGET', KEYS[2], cause.match_id)
    if version(cause.record_now) ~= cause.record_replaced then return false end
    if cause.parked_replaced ~= '*'
        and version(redis.call('HGET', KEYS[3], cause.match_id)) ~= cause.parked_replaced then
      return false
    end
  end
  return true
end

local function write(cause)
  local position = '0'
  if cause.takes_position then position = string.format('%.0f', redis.call('INCR', KEYS[6])) end
  for _, row in ipairs(cause.rows) do
    redis.call('HSET', KEYS[1], row[1], row[3])
    if row[4] ~= '' then redis.call('ZADD', KEYS[5], row[4], row[1]) end
  end
  if cause.record_version ~= '' then
    local stands_at = cause.record_now and string.match(cause.record_now, '^%S+ (%S+)') or position
    redis.call('HSET', KEYS[2], cause.match_id, table.concat({cause.record_version, stands_at, cause.record}, ' '))
  end
  if cause.parked_replaced ~= '*' and cause.parked ~= '=' then
    if cause.parked ~= '' then
      redis.call('HSET', KEYS[3], cause.match_id, cause.parked)
    elseif cause.parked_replaced ~= '' then
      redis.call('HDEL', KEYS[3], cause.match_id)
    end
  end
  for _, entry in ipairs(cause.windows) do
    redis.call('ZADD', KEYS[tonumber(entry[1])], entry[2], entry[3])
  end
  if cause.entry ~= '' then
    local below = {}
    for i, source in ipairs(cause.rests_on) do below[i] = source[1] end
    redis.call('HSET', KEYS[4], cause.source,
      table.concat({position, run, table.concat(below, ','), cause.entry}, ' '))
  end
  return position
end

local back, seen = {}, {}

local function hand_back(sources)
  local waiting = {}
  for _, source in ipairs(sources) do waiting[#waiting + 1] = source[1] end
  while #waiting > 0 do
    local source = table.remove(waiting)
    local entry = not seen[source] and redis.call('HGET', KEYS[4], source)
    seen[source] = true
    if entry then
      local wrote, rests = string.match(entry, '^%S+ (%S+) (%S*) ')
      if wrote ~= run then
        back[#back + 1] = source
        back[#back + 1] = entry
        for below in string.gmatch(rests, '[^,]+') do waiting[#waiting + 1] = below end
      end
    end
  end
end

local positions = {}
while at < #ARGV do
  local cause = take_cause()
  if holds(cause) then
    positions[#positions + 1] = write(cause)
    hand_back(cause.rests_on)
  else
    positions[#positions + 1] = ''
    for _, name in ipairs(cause.names) do stale[name[1]] = true end
  end
end
return {positions, back}
