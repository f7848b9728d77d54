-- leaderboard: a page of it, with the players' rows, at one instant
-- KEYS  1 leaderboard  2 players
-- ARGV  1 first place, from 0  2 last place; at most 1,000 of them, which one unpack takes
-- returns {number of players on it, ids, rows}
-- O(log n + places) for n players on it

local ids = redis.call('ZRANGE', KEYS[1], ARGV[1], ARGV[2])
local rows = {}
if #ids > 0 then rows = redis.call('HMGET', KEYS[2], unpack(ids)) end
return {redis.call('ZCARD', KEYS[1]), ids, rows}
