-- around: a page of the leaderboard with one player in the middle, moved so that it is full near either end too
-- KEYS  1 leaderboard  2 players
-- ARGV  1 player_id  2 number of places, at most 1,000, which one unpack takes
-- returns {number of players on it, the player's row};
--         for one who is on it also the player's place and the page's first one, from 0, and the page's ids and rows
-- O(log n + places) for n players on it

local players, row = redis.call('ZCARD', KEYS[1]), redis.call('HGET', KEYS[2], ARGV[1])
local place = redis.call('ZRANK', KEYS[1], ARGV[1])
if not place then return {players, row} end
local limit = tonumber(ARGV[2])
local first = math.max(0, math.min(place - math.floor(limit / 2), players - limit))
local ids = redis.call('ZRANGE', KEYS[1], first, first + limit - 1)
return {players, row, place, first, ids, redis.call('HMGET', KEYS[2], unpack(ids))}
