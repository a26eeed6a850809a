-- Returns owner, fencing number, version and record of a session, or nothing if it has expired. ARGV: now in ms, and the maximum
-- size of the record.
if redis.call('PEXPIRETIME', KEYS[1]) <= tonumber(ARGV[1]) then
    return false
end
if redis.call('HSTRLEN', KEYS[1], 'record') > tonumber(ARGV[2]) then
    return redis.error_reply('TOOLARGE the record of the session exceeds the limit of ' .. ARGV[2] .. ' bytes')
end
return redis.call('HMGET', KEYS[1], 'owner', 'fence', 'version', 'record')
