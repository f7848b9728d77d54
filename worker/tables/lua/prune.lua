-- prune: look at what has fallen due: what is from before the horizon goes, what is not waits in due for its instant
-- KEYS  1 horizon  2 due  3 matches  4 parked  5 list of the hour to open  6.. windows of the players to look at, in order
-- ARGV  1 window_ms  2 for how many ms behind the horizon records are kept  3 hour to open, '' = none
--       4 most to take from its list or from windows   5.. entries of due to look at
-- returns how many records, parked analyses and window entries were removed
--
-- due and its lists hold  m<match_id> a record, p<match_id> its parked analyses, w<player> a window, h<hour> a list's hour
-- What is kept stands in the list of an hour or in due, at its instant or earlier; a window stands in due from when the first
-- of its games lost the record, at its oldest such game plus window_ms or earlier. What is neither is never looked at.

local horizon = tonumber(redis.call('GET', KEYS[1]) or '0')
local window_ms, records_kept_ms, hour, most = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])
local records, parked, games, windows = 0, 0, 0, 0

local function text(instant_ms) return string.format('%.0f', instant_ms) end

local look = {}

function look.m(match_id)
  local value = redis.call('HGET', KEYS[3], match_id)
  if not value then return nil end
  local at, packed = string.match(value, '^%S+ %S+ (%S+) ()')
  if at + records_kept_ms >= horizon then return text(at + records_kept_ms) end
  redis.call('HDEL', KEYS[3], match_id)
  records = records + 1
  local rated = window_ms > 0 and cmsgpack.unpack(string.sub(value, packed))[4]
  if rated then
    for side = 1, 2 do redis.call('ZADD', KEYS[2], 'LT', text(at + window_ms), 'w' .. rated[side][1]) end
  end
end

function look.p(match_id)
  local value = redis.call('HGET', KEYS[4], match_id)
  if not value then return nil end
  local at = string.match(value, '^%S+ (%S+)')
  if tonumber(at) >= horizon then return at end
  redis.call('HDEL', KEYS[4], match_id)
  parked = parked + 1
end

function look.w()
  windows = windows + 1
  local window = KEYS[5 + windows]
  local old = math.min(most - games, redis.call('ZCOUNT', window, '-inf', '(' .. text(horizon - window_ms)))
  if old > 0 then games = games + redis.call('ZREMRANGEBYRANK', window, 0, old - 1) end
  local oldest = redis.call('ZRANGE', window, 0, 0, 'WITHSCORES')[2]
  return oldest and text(oldest + window_ms)
end

local entries = {}
if hour == '' then
  for i = 5, #ARGV do entries[i - 4] = ARGV[i] end
else
  entries = redis.call('LPOP', KEYS[5], most) or {}
  if redis.call('EXISTS', KEYS[5]) == 0 then redis.call('ZREM', KEYS[2], 'h' .. hour) end
end
for _, entry in ipairs(entries) do
  local waits_for = look[string.sub(entry, 1, 1)](string.sub(entry, 2))
  if waits_for then redis.call('ZADD', KEYS[2], waits_for, entry) else redis.call('ZREM', KEYS[2], entry) end
end
return {records, parked, games}
