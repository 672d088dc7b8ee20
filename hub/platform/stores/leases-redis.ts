import type { LaneLease, LaneLeases } from "./leases.ts";
import { defineScript, type Redis } from "./redis.ts";

/**
 * KEYS: 1 the worker's lanes by the time their leases end, 2 what is on each lane: `<token> <job and session as JSON>`,
 * 3 the last token. All times are those of Redis. Tokens are whole numbers below 2^53, printed without an exponent;
 * they start at the microseconds of the clock, so they rise even after Redis was emptied.
 */
const PROLOGUE = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
for _, lane in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now)) do
  redis.call('ZREM', KEYS[1], lane)
  redis.call('HDEL', KEYS[2], lane)
end
local function token_on(lane)
  local held = redis.call('HGET', KEYS[2], lane)
  return held and string.match(held, '^%d+')
end
local function raise_token(least)
  local last = math.max(tonumber(redis.call('GET', KEYS[3]) or '0'), least)
  local text = string.format('%.0f', last)
  redis.call('SET', KEYS[3], text)
  return text
end
local function next_token()
  local last = tonumber(redis.call('GET', KEYS[3]) or '0')
  return raise_token(math.max(last + 1, time[1] * 1000000 + time[2]))
end
local function hold(lane, held, ttl)
  redis.call('ZADD', KEYS[1], now + ttl, lane)
  redis.call('HSET', KEYS[2], lane, held)
  local last = redis.call('ZREVRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2]
  redis.call('PEXPIREAT', KEYS[1], last)
  redis.call('PEXPIREAT', KEYS[2], last)
end
local function free(lane)
  redis.call('ZREM', KEYS[1], lane)
  redis.call('HDEL', KEYS[2], lane)
end
`;

// ARGV: max_concurrent, ttl, job and session, lanes…
const ACQUIRE = defineScript(`${PROLOGUE}
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[1]) then return false end
for i = 4, #ARGV do
  if not redis.call('ZSCORE', KEYS[1], ARGV[i]) then
    local token = next_token()
    hold(ARGV[i], token .. ' ' .. ARGV[3], ARGV[2])
    return {ARGV[i], token}
  end
end
return false`);

// ARGV: lane, token, job.
const HAND_OVER = defineScript(`${PROLOGUE}
if token_on(ARGV[1]) ~= ARGV[2] then return false end
local on = cjson.decode(string.match(redis.call('HGET', KEYS[2], ARGV[1]), '^%d+ (.*)$'))
on.job_id = ARGV[3]
local held = next_token() .. ' ' .. cjson.encode(on)
redis.call('HSET', KEYS[2], ARGV[1], held)
return held`);

// ARGV: lane, token.
const HOLDS = defineScript(`${PROLOGUE}
return token_on(ARGV[1]) == ARGV[2] and 1 or 0`);

const RELEASE = defineScript(`${PROLOGUE}
if token_on(ARGV[1]) ~= ARGV[2] then return 0 end
free(ARGV[1])
return 1`);

// ARGV: ttl, then lane, token, job and session of each.
const RENEW = defineScript(`${PROLOGUE}
for i = 2, #ARGV, 3 do
  local current = token_on(ARGV[i])
  if not current or tonumber(current) <= tonumber(ARGV[i + 1]) then
    hold(ARGV[i], ARGV[i + 1] .. ' ' .. ARGV[i + 2], ARGV[1])
    raise_token(tonumber(ARGV[i + 1]))
  end
end
return 1`);

// KEYS: lanes and what is on them, of each worker. Changes nothing.
const LIST = defineScript(`
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local found = {}
for i = 1, #KEYS, 2 do
  local held = {}
  for _, lane in ipairs(redis.call('ZRANGEBYSCORE', KEYS[i], '(' .. now, '+inf')) do
    local on = redis.call('HGET', KEYS[i + 1], lane)
    if on then
      held[#held + 1] = lane
      held[#held + 1] = on
    end
  end
  found[#found + 1] = held
end
return found`);

const RELEASE_ALL = defineScript(`${PROLOGUE}
local held = redis.call('HGETALL', KEYS[2])
redis.call('DEL', KEYS[1], KEYS[2])
return held`);

type OnLane = Pick<LaneLease, "job_id" | "session_id">;

/**
 * The lane leases of the hubs of a fleet. A call that Redis answered too late may have taken effect: a lease that no
 * hub knows of is not renewed, so its lane is free again when its time is over.
 */
export function createRedisLeases(redis: Redis, prefix: string): LaneLeases {
  const base = `${prefix}{leases}:`;
  const ownKeysOf = (worker_id: string) => [
    `${base}${worker_id}:until`,
    `${base}${worker_id}:held`,
  ];
  const keysOf = (worker_id: string) => [...ownKeysOf(worker_id), `${base}token`];
  const onLane = ({ job_id, session_id }: OnLane) =>
    JSON.stringify({ job_id, session_id } satisfies OnLane);
  const ttlOf = (ttl_ms: number) => String(Math.max(1, Math.ceil(ttl_ms)));
  const leaseOf = (worker_id: string, lane: string, held: string): LaneLease => {
    const space = held.indexOf(" ");
    const { job_id, session_id } = JSON.parse(held.slice(space + 1)) as OnLane;
    const token = Number(held.slice(0, space));
    return { worker_id, lane_idx: Number(lane), token, job_id, session_id };
  };
  const leasesOf = (worker_id: string, flat: unknown): LaneLease[] => {
    const texts = flat as string[];
    const leases: LaneLease[] = [];
    for (let i = 0; i + 1 < texts.length; i += 2)
      leases.push(leaseOf(worker_id, texts[i] ?? "", texts[i + 1] ?? ""));
    return leases.sort((a, b) => a.lane_idx - b.lane_idx);
  };
  const listMany = async (worker_ids: readonly string[]): Promise<Map<string, LaneLease[]>> => {
    if (worker_ids.length === 0) return new Map();
    const found = (await redis.run(LIST, worker_ids.flatMap(ownKeysOf), [])) as unknown[];
    return new Map(worker_ids.map((id, i) => [id, leasesOf(id, found[i])]));
  };

  return {
    acquire: async ({ worker_id, lanes, max_concurrent, job_id, session_id, ttl_ms }) => {
      const args = [String(max_concurrent), ttlOf(ttl_ms), onLane({ job_id, session_id })];
      const got = await redis.run(ACQUIRE, keysOf(worker_id), [...args, ...lanes.map(String)]);
      if (got === null) return null;
      const [lane, token] = got as [string, string];
      return { worker_id, lane_idx: Number(lane), token: Number(token), job_id, session_id };
    },
    handOver: async (worker_id, lane_idx, token, job_id) => {
      const lane = String(lane_idx);
      const held = await redis.run(HAND_OVER, keysOf(worker_id), [lane, String(token), job_id]);
      return held === null ? null : leaseOf(worker_id, lane, held as string);
    },
    holds: async (worker_id, lane_idx, token) =>
      (await redis.run(HOLDS, keysOf(worker_id), [String(lane_idx), String(token)])) === 1,
    renew: async (worker_id, held, ttl_ms) => {
      if (held.length === 0) return;
      const each = held.flatMap((lease) => [
        String(lease.lane_idx),
        String(lease.token),
        onLane(lease),
      ]);
      await redis.run(RENEW, keysOf(worker_id), [ttlOf(ttl_ms), ...each]);
    },
    release: async (worker_id, lane_idx, token) =>
      (await redis.run(RELEASE, keysOf(worker_id), [String(lane_idx), String(token)])) === 1,
    releaseAll: async (worker_id) =>
      leasesOf(worker_id, await redis.run(RELEASE_ALL, keysOf(worker_id), [])),
    list: async (worker_id) => (await listMany([worker_id])).get(worker_id) ?? [],
    listMany,
  };
}
