/**
 * The scripts on a topic's log. Each runs as one step, so offsets are contiguous however many processes append. Redis
 * checks its memory only before the first write of a script, so that write must not be DEL.
 */

/** Epochs of a log that are remembered. A server begins one with every failover. */
const MAX_PAST = 8;
/** Logs of more frames are not copied when they end. */
const MAX_COPIED = 256;

/**
 * Reads the state of the log, and begins a new epoch when there is none, or when another server wrote last: a promoted
 * replica or a restarted server may lack the newest frames. The kept frames and their offsets stay in the new epoch;
 * `base` is the last of them. The replication id is that of one server between two failovers, whereas its run id returns
 * when the server becomes the master a second time.
 *
 * `written` and `writtenOffset` are the position of the last append of the calling process, or empty and 0. A position that
 * the log has not reached is that of a server which was a master beside this one, or lost frames: readers must be told, in
 * a new epoch. `past` has the earlier epochs of the log, each with the highest offset of which readers were told.
 *
 * A topic without a log has a position too, for which nothing is stored: offset 0 of an epoch that follows from the server
 * and the topic. `isFrom0` tells whether all frames of the log come after it: the log is in its first epoch, on the same
 * server, and replaced none.
 */
const STATE = `
local function endOf(state, epoch)
  if epoch == state.epoch then return state.top end
  local _, last = string.find(state.past, ' ' .. epoch .. '=', 1, true)
  return last and tonumber(string.match(state.past, '^%d+', last + 1))
end
local function remember(state, epoch, offset)
  if epoch == '' then return end
  local past, count = ' ' .. epoch .. '=' .. math.max(offset, endOf(state, epoch) or 0) .. ' ', 1
  for name, last in string.gmatch(state.past, '(%S+)=(%d+)') do
    if name ~= epoch and count < ${MAX_PAST} then
      past = past .. name .. '=' .. last .. ' '
      count = count + 1
    end
  end
  state.past = past
end
local function loadState(durable, candidate, written, writtenOffset)
  local server = 'durable'
  if durable ~= '1' then
    server = string.match(redis.call('INFO', 'replication'), 'master_replid:(%w+)') or ''
  end
  local found = redis.call('HMGET', KEYS[1], 'epoch', 'top', 'server', 'ended', 'log', 'base', 'size', 'past')
  local state = { epoch = found[1], top = tonumber(found[2]) or 0, server = server, log = found[5] }
  state.ended = found[4]
  state.base = tonumber(found[6]) or 0
  state.size = found[7]
  state.past = found[8] or ' '
  if not state.epoch then
    state.isNew, state.epoch, state.log = true, candidate, candidate
    remember(state, written, writtenOffset)
  elseif (durable ~= '1' and found[3] ~= server) or (written ~= '' and writtenOffset > (endOf(state, written) or -1)) then
    remember(state, state.epoch, state.top)
    remember(state, written, writtenOffset)
    state.isMoved, state.epoch, state.base = true, candidate, state.top
  end
  return state
end
local function saveEpoch(state)
  redis.call('HSET', KEYS[1], 'epoch', state.epoch, 'server', state.server, 'log', state.log, 'base', state.base,
    'past', state.past)
end
local function emptyEpoch(state)
  return '0.' .. string.sub(redis.sha1hex(state.server .. KEYS[1]), 1, 16)
end
local function isFrom0(state, after, afterOffset)
  return afterOffset == 0 and state.epoch == state.log and state.past == ' ' and
    after == 'after ' .. emptyEpoch(state)
end
local function now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
local function isExpired(fields, at)
  local expiresAt = tonumber(fields[6])
  return expiresAt > 0 and expiresAt <= at
end
`;

/**
 * Keys: epoch, log; with an id also ids. A reply of 0 elements means that the topic has ended, a reply of 1 element that
 * its epoch is not the expected one. What is rarely needed is done rarely: the stream is trimmed by whole nodes, and
 * `READ` leaves out the frames above the size; expired frames are removed with every 16th append; the keys get `renewal`
 * ms more than they need, so that it is not renewed every time. A frame lifetime of 0 means that the whole log expires,
 * so that its last append decides when.
 */
export const APPEND: string = `${STATE}
local durable, candidate, command, channel, header, frame = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local excluded, size, ttl, frameTtl, epochTtl = ARGV[7], ARGV[8], tonumber(ARGV[9]), tonumber(ARGV[10]), ARGV[11]
local isLast, id, maxIds, expected, renewal = ARGV[12], ARGV[13], tonumber(ARGV[14]), ARGV[15], tonumber(ARGV[16])
local written, writtenOffset = ARGV[17], tonumber(ARGV[18])
local function keep(key)
  if frameTtl ~= 0 and redis.call('PTTL', key) >= ttl then return false end
  redis.call('PEXPIRE', key, ttl + renewal)
  return true
end
local state = loadState(durable, candidate, written, writtenOffset)
if expected ~= '' and state.epoch ~= expected then return { 'epoch' } end
local hasOtherIds = false
if id ~= '' then
  local known = redis.call('HMGET', KEYS[3], 'log', 'i:' .. id)
  hasOtherIds = known[1] ~= state.log
  local repeated = state.ended == '1' .. id and state.top or not hasOtherIds and tonumber(known[2])
  if repeated then
    if state.isMoved then saveEpoch(state) end
    return { state.epoch, repeated, 1 }
  end
end
if state.ended then return {} end
local at = now()
local offset = state.top + 1
local expiresAt = 0
if frameTtl > 0 then expiresAt = at + frameTtl end
if state.isNew then
  saveEpoch(state)
  redis.call('DEL', KEYS[2])
end
redis.call('XADD', KEYS[2], 'MAXLEN', '~', size, offset .. '-0', 'f', frame, 'x', excluded, 't', expiresAt)
if state.isMoved then saveEpoch(state) end
redis.call('HSET', KEYS[1], 'top', offset)
if isLast == '1' then redis.call('HSET', KEYS[1], 'ended', '1' .. id) end
if state.size ~= size then redis.call('HSET', KEYS[1], 'size', size) end
-- The epoch outlives the log, so it is enough to renew both together.
if keep(KEYS[2]) then redis.call('PEXPIRE', KEYS[1], epochTtl + renewal) end
if id ~= '' and (isLast == '1' or hasOtherIds) then redis.call('DEL', KEYS[3]) end
-- A stream reserves 4 KiB, which most logs that have ended never fill; a copy has none. Redis 6.0 has no COPY.
if id ~= '' and isLast == '1' and offset <= ${MAX_COPIED} and redis.pcall('COPY', KEYS[2], KEYS[3]) == 1 then
  redis.call('RENAME', KEYS[3], KEYS[2])
end
if id ~= '' and isLast ~= '1' then
  local place = 'n:' .. (redis.call('HINCRBY', KEYS[3], 'count', 1) % maxIds)
  local oldest = redis.call('HGET', KEYS[3], place)
  if oldest then redis.call('HDEL', KEYS[3], 'i:' .. oldest) end
  redis.call('HSET', KEYS[3], 'log', state.log, place, id, 'i:' .. id, offset)
  keep(KEYS[3])
end
if offset % 16 == 0 then
  for _ = 1, 32 do
    local first = redis.call('XRANGE', KEYS[2], '-', '+', 'COUNT', 1)[1]
    if not first or not isExpired(first[2], at) then break end
    redis.call('XDEL', KEYS[2], first[1])
  end
end
redis.call(command, channel, header .. ' ' .. state.epoch .. ' ' .. offset .. '\\n' .. frame)
return { state.epoch, offset, 0 }
`;

/**
 * Keys: epoch, log. Replies with the epoch, top, whether it has ended, whether frames are missing, whether there are more;
 * then offset, excluded client and frame of each item. Only the oldest frames expire, so that the items are contiguous.
 */
export const READ: string = `${STATE}
local durable, candidate, create, after = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local afterOffset, last = tonumber(ARGV[5]), tonumber(ARGV[6])
local maxItems, maxBytes = tonumber(ARGV[7]), tonumber(ARGV[8])
local state = loadState(durable, candidate, ARGV[9], tonumber(ARGV[10]))
local isAfter = after ~= ''
local isSame = isFrom0(state, after, afterOffset) or
  (after == 'after ' .. state.epoch and afterOffset <= state.top)
if state.isNew then
  if create ~= '1' then return { '', 0, 0, 0, 0 } end
  return { emptyEpoch(state), 0, 0, isAfter and not isSame and 1 or 0, 0 }
end
if state.isMoved then saveEpoch(state) end
local from = state.base + 1
if not isAfter then
  from = state.top - last + 1
elseif isSame then
  from = afterOffset + 1
elseif state.past ~= ' ' and not endOf(state, string.sub(after, 7)) then
  -- Frames of this epoch may be older than the newest that the reader got from the other server.
  from = state.top + 1
end
from = math.max(from, 1, state.top - (tonumber(state.size) or state.top) + 1)
local at = now()
local reply = { state.epoch, state.top, state.ended and 1 or 0, 0, 0 }
local count, bytes, oldest, reached, isFull = 0, 0, nil, from - 1, false
local nextOffset = from
while nextOffset <= state.top and not isFull do
  local entries = redis.call('XRANGE', KEYS[2], nextOffset .. '-0', '+', 'COUNT', 16)
  if #entries == 0 then break end
  for _, entry in ipairs(entries) do
    local offset = tonumber(string.match(entry[1], '^%d+'))
    nextOffset = offset + 1
    if oldest or not isExpired(entry[2], at) then
      if not oldest then
        oldest = offset
        reached = offset - 1
      end
      local frame = entry[2][2]
      bytes = bytes + #frame
      if count >= maxItems or (bytes > maxBytes and count > 0) then
        isFull = true
        break
      end
      count = count + 1
      reached = offset
      reply[#reply + 1] = offset
      reply[#reply + 1] = entry[2][4]
      reply[#reply + 1] = frame
    end
  end
end
if not oldest then
  oldest = state.top + 1
  reached = state.top
end
if isAfter and (not isSame or oldest > afterOffset + 1) then reply[4] = 1 end
if reached < state.top then reply[5] = 1 end
return reply
`;

/** Keys: epoch, log, ids. */
export const DELETE = `return redis.call('DEL', KEYS[1], KEYS[2], KEYS[3])`;
