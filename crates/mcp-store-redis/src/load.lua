-- Returns owner, fencing number, version and record of a session, or nothing if it has expired. ARGV: now in ms.
if redis.call('PEXPIRETIME', KEYS[1]) <= tonumber(ARGV[1]) then
    return false
end
return redis.call('HMGET', KEYS[1], 'owner', 'fence', 'version', 'record')
