#!lua flags=allow-oom
-- Changes the owner of a session that is as it was loaded, also at maxmemory. Returns 1 if it is changed.
-- ARGV: the loaded owner, fencing number and version; the new owner.
local found = redis.call('HMGET', KEYS[1], 'owner', 'fence', 'version')
if found[1] ~= ARGV[1] or found[2] ~= ARGV[2] or found[3] ~= ARGV[3] then
    return 0
end
redis.call('HINCRBY', KEYS[1], 'fence', 1)
redis.call('HSET', KEYS[1], 'owner', ARGV[4])
return 1
