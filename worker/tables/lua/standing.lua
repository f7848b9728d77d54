-- standing: all that is kept of some players, with the position at which it was read
-- KEYS  1 players  2 leaderboard  3 position  4 horizon  5.. the window of each player
-- ARGV  player ids, at most a few thousand
-- returns {rows, scores, windows {match_id, finished_at_ms, ...}, position, horizon}; what is not there is nil

local scores, windows = {}, {}
for i, player in ipairs(ARGV) do
  scores[i] = redis.call('ZSCORE', KEYS[2], player)
  windows[i] = redis.call('ZRANGE', KEYS[4 + i], 0, -1, 'WITHSCORES')
end
return {redis.call('HMGET', KEYS[1], unpack(ARGV)), scores, windows,
        redis.call('GET', KEYS[3]) or '0', redis.call('GET', KEYS[4]) or '0'}
