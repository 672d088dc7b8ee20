import { type Kv, kindOf, listedKind } from "./kv.ts";
import { defineScript, type Redis } from "./redis.ts";

/**
 * Each entry is a separate key that expires by Redis' clock. Beside them, one sorted set for each kind names its
 * entries by the time they expire, so a list reads one kind and never scans the database. Every write prunes expired
 * names, and the set expires with its last entry, so sets that are never listed do not pile up either.
 */
const INDEX = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function index(key, name, ttl)
  redis.call('ZADD', key, now + ttl, name)
  redis.call('ZREMRANGEBYSCORE', key, '-inf', now)
  local last = redis.call('ZREVRANGE', key, 0, 0, 'WITHSCORES')
  if last[2] then redis.call('PEXPIREAT', key, last[2]) end
end
`;

// KEYS: entry, index. ARGV: name in the index, ttl in ms, value.
const SET = defineScript(`${INDEX}
redis.call('SET', KEYS[1], ARGV[3], 'PX', ARGV[2])
index(KEYS[2], ARGV[1], ARGV[2])
return 1`);

const SET_IF_ABSENT = defineScript(`${INDEX}
if not redis.call('SET', KEYS[1], ARGV[3], 'PX', ARGV[2], 'NX') then return 0 end
index(KEYS[2], ARGV[1], ARGV[2])
return 1`);

const TOUCH = defineScript(`${INDEX}
if redis.call('PEXPIRE', KEYS[1], ARGV[2]) == 0 then return 0 end
index(KEYS[2], ARGV[1], ARGV[2])
return 1`);

const DELETE = defineScript(`
redis.call('ZREM', KEYS[2], ARGV[1])
return redis.call('DEL', KEYS[1])`);

/** Whether the value is an object with the fields that ARGV names from `first` on. */
const HAS = `
local function has(text, first)
  local ok, value = pcall(cjson.decode, text)
  if not ok or type(value) ~= 'table' then return false end
  for i = first, #ARGV, 2 do
    if value[ARGV[i]] ~= ARGV[i + 1] then return false end
  end
  return true
end
`;

// ARGV: as for SET, then names and texts of fields.
const SET_IF = defineScript(`${INDEX}${HAS}
local text = redis.call('GET', KEYS[1])
if text and not has(text, 4) then return 0 end
redis.call('SET', KEYS[1], ARGV[3], 'PX', ARGV[2])
index(KEYS[2], ARGV[1], ARGV[2])
return 1`);

// ARGV: name in the index, then names and texts of fields.
const DELETE_IF = defineScript(`${HAS}
local text = redis.call('GET', KEYS[1])
if not text or not has(text, 2) then return 0 end
redis.call('ZREM', KEYS[2], ARGV[1])
return redis.call('DEL', KEYS[1])`);

// KEYS: index. ARGV: prefix of the names, prefix of the entries' keys.
const LIST = defineScript(`
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local names, keys = {}, {}
for _, name in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. now, '+inf')) do
  if string.sub(name, 1, #ARGV[1]) == ARGV[1] then
    names[#names + 1] = name
    keys[#keys + 1] = ARGV[2] .. name
  end
end
local found = {}
for first = 1, #keys, 1000 do
  local last = math.min(first + 999, #keys)
  for i, value in ipairs(redis.call('MGET', unpack(keys, first, last))) do
    if value then
      found[#found + 1] = names[first + i - 1]
      found[#found + 1] = value
    end
  end
end
return found`);

/** The key-value store of the hubs of a fleet. Keys begin with `prefix`; those of one kind share a hash tag. */
export function createRedisKv(redis: Redis, prefix: string): Kv {
  const tagOf = (kind: string) => `${prefix}{kv:${kind}}`;
  const entryOf = (key: string) => `${tagOf(kindOf(key))}:${key}`;
  const keysOf = (key: string) => [entryOf(key), tagOf(kindOf(key))];
  const ttlOf = (ttl_ms: number) => String(Math.max(1, Math.ceil(ttl_ms)));
  const textOf = (value: unknown) => JSON.stringify(value ?? null);

  return {
    get: async <T>(key: string) => {
      const text = await redis.call((client) => client.get(entryOf(key)));
      return text === null ? null : (JSON.parse(text) as T);
    },
    set: async (key, value, ttl_ms) => {
      await redis.run(SET, keysOf(key), [key, ttlOf(ttl_ms), textOf(value)]);
    },
    setIfAbsent: async (key, value, ttl_ms) =>
      (await redis.run(SET_IF_ABSENT, keysOf(key), [key, ttlOf(ttl_ms), textOf(value)])) === 1,
    setIf: async (key, fields, value, ttl_ms) => {
      const args = [key, ttlOf(ttl_ms), textOf(value), ...Object.entries(fields).flat()];
      return (await redis.run(SET_IF, keysOf(key), args)) === 1;
    },
    touch: async (key, ttl_ms) => (await redis.run(TOUCH, keysOf(key), [key, ttlOf(ttl_ms)])) === 1,
    delete: async (key) => {
      await redis.run(DELETE, keysOf(key), [key]);
    },
    deleteIf: async (key, fields) =>
      (await redis.run(DELETE_IF, keysOf(key), [key, ...Object.entries(fields).flat()])) === 1,
    list: async <T>(wanted: string) => {
      const tag = tagOf(listedKind(wanted));
      const flat = (await redis.run(LIST, [tag], [wanted, `${tag}:`])) as string[];
      const found: { key: string; value: T }[] = [];
      for (let i = 0; i + 1 < flat.length; i += 2)
        found.push({ key: flat[i] ?? "", value: JSON.parse(flat[i + 1] ?? "null") as T });
      return found.sort((a, b) => (a.key < b.key ? -1 : 1));
    },
    close: async () => {},
  };
}
