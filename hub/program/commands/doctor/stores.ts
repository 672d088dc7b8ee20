import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { RedisClient } from "bun";
import type { HubConfig } from "#hub/platform/config.ts";
import type { SharedDriverName, SharedStore } from "#hub/platform/shared-drivers.ts";
import { openObjects } from "#hub/platform/stores/open-objects.ts";
import { readRedisUrl, whyNot } from "#hub/platform/stores/redis-url.ts";
import { withDeadline } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import { hideCredentials } from "#shared/kit/hide-credentials.ts";
import { silentLog } from "#shared/kit/log.ts";
import { type Check, fail, ok, warn } from "./check.ts";
import { clockText, MAX_SKEW_MS, SET_CLOCK, skewOf } from "./clocks.ts";
import { adviceOnWrite, codeOf, measureFsync } from "./write.ts";

const REDIS_MS = 5_000;
const OBJECTS_MS = 15_000;
const SHARED_CHECKS: Record<SharedDriverName, (url: string) => Promise<Check>> = {
  redis: checkRedis,
};
/** The store that the hubs share. */
export const checkShared = ({ driver, url }: SharedStore): Promise<Check> =>
  SHARED_CHECKS[driver](url);

/** Checks that it is reachable, recent enough, and never evicts keys: it holds leases and registrations. */
export async function checkRedis(url: string): Promise<Check> {
  const name = "redis";
  const client = new RedisClient(readRedisUrl(url), {
    connectionTimeout: REDIS_MS,
    autoReconnect: false,
    enableOfflineQueue: true,
    maxRetries: 0,
  });
  try {
    const ask = <T>(work: Promise<T>) => withDeadline("redis", REDIS_MS, work);
    await ask(client.connect());
    const info = String(await ask(client.send("INFO", [])));
    const field = (key: string) =>
      new RegExp(`^${key}:(.*)$`, "m").exec(info)?.[1]?.trim() ?? "unknown";
    const asked = Date.now();
    const time = (await ask(client.send("TIME", []))) as [string, string];
    const theirs = Number(time[0]) * 1_000 + Math.floor(Number(time[1]) / 1_000);
    const skew = skewOf(theirs, asked, Date.now());
    const version = field("redis_version");
    const policy = field("maxmemory_policy");
    const found = `Redis ${version}, ${policy}, ${clockText(skew)}`;
    if (Math.abs(skew) > MAX_SKEW_MS) return fail(name, found, SET_CLOCK);
    if (policy !== "noeviction")
      return fail(
        name,
        found,
        "run redis-cli config set maxmemory-policy noeviction (and set it in redis.conf)",
      );
    if (Number.parseInt(version, 10) < 6)
      return warn(name, found, "use Redis 6 or later: older versions are not tested");
    return ok(name, found);
  } catch (err) {
    // Bun only reports that the connection was closed.
    const why = hideCredentials(await whyNot(readRedisUrl(url), err));
    return fail(
      name,
      why,
      /certificate/i.test(why)
        ? "NODE_EXTRA_CA_CERTS must name the PEM file of the authority that signed its certificate"
        : adviceOnRedis(why),
    );
  } finally {
    client.close();
  }
}

/** Advice by the error text of Redis or of the system. */
function adviceOnRedis(why: string): string {
  if (/^(WRONGPASS|NOAUTH)|invalid.*password|without any password/i.test(why))
    return "the password in SVC_REDIS_URL must be the server's: redis://:PASSWORD@host:6379/0";
  if (/NOPERM/.test(why))
    return "the user in SVC_REDIS_URL needs the right to run every command (ACL)";
  if (/LOADING/.test(why)) return "the server is loading its data: try again in a moment";
  if (/DB index/i.test(why))
    return "the server has no database with the number at the end of SVC_REDIS_URL";
  if (/ENOTFOUND|EAI_AGAIN|getaddrinfo/i.test(why))
    return "the host name in SVC_REDIS_URL does not resolve: check /etc/hosts and DNS";
  if (/ECONNREFUSED|refused/i.test(why))
    return "nothing listens there: start Redis, and check bind and port in redis.conf";
  if (/closed the connection/i.test(why))
    return "what listens there does not speak plain Redis: use rediss:// if it expects TLS";
  return "SVC_REDIS_URL must name a running server that this machine can reach: redis://:PASSWORD@host:6379/0";
}

/** Writes a small object, reads it back and deletes it; in a directory, a file. */
export async function checkObjects({
  objects_url,
  object_keys,
}: Pick<HubConfig, "objects_url" | "object_keys">): Promise<Check> {
  const [, dir] = /^file:(?:\/\/)?(.+)$/is.exec(objects_url.trim()) ?? [];
  if (dir !== undefined) return checkDirectory(resolve(dir));
  return checkBucket(objects_url, object_keys);
}

/** Creates nothing that the service would have to own: its first start creates a missing directory. */
async function checkDirectory(dir: string): Promise<Check> {
  const name = "objects";
  let at = dir;
  while (!existsSync(at)) at = dirname(at);
  try {
    const sync_ms = await measureFsync(at);
    const found =
      at === dir
        ? `${dir}: written and deleted, fsync ${sync_ms.toFixed(1)} ms`
        : `${dir} does not exist: the first start creates it`;
    return ok(name, found);
  } catch (err) {
    return fail(name, errorMessage(err), adviceOnWrite(err, at, "SVC_OBJECTS_URL"));
  }
}

async function checkBucket(url: string, keys: HubConfig["object_keys"]): Promise<Check> {
  const name = "objects";
  const key = `doctor/probe-${randomBytes(6).toString("hex")}`;
  const body = randomBytes(64);
  const where = hideCredentials(url);
  const ask = <T>(work: Promise<T>) => withDeadline("objects", OBJECTS_MS, work);
  try {
    const store = await ask(openObjects(url, { log: silentLog, keys }));
    try {
      const began = performance.now();
      await ask(store.put(key, body));
      const read = await ask(store.read(key));
      const same =
        read !== null && Buffer.from(await ask(new Response(read).arrayBuffer())).equals(body);
      await ask(store.delete(key));
      const took = `${Math.round(performance.now() - began)} ms`;
      if (!same)
        return fail(
          name,
          `${where} returned different content`,
          "use a store with consistent reads",
        );
      return ok(name, `${where}: written, read and deleted in ${took}`);
    } finally {
      await store.delete(key).catch(() => {});
      await store.close();
    }
  } catch (err) {
    const said = hideCredentials(errorMessage(err));
    return fail(name, said, adviceOnBucket(said, codeOf(err)));
  }
}

/** Advice by the code of S3's answer or of the connection's error. */
function adviceOnBucket(said: string, code: string): string {
  const words = `${code} ${said}`;
  if (/InvalidAccessKeyId|SignatureDoesNotMatch|S3_ACCESS_KEY_ID|ExpiredToken/i.test(words))
    return "S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY must be a pair that the bucket's server knows, and this machine's clock must agree with the server's";
  if (/NoSuchBucket/i.test(words))
    return "create the bucket, or name another one in SVC_OBJECTS_URL";
  if (/AccessDenied|Forbidden|\b403\b/i.test(words))
    return "the key must have the right to put, get and delete in the bucket (here below doctor/)";
  if (/certificate|CERT/i.test(words))
    return "NODE_EXTRA_CA_CERTS must name the PEM file of the authority that signed its certificate";
  if (/refused|unable to connect|ECONN|socket|within|not answer|ENOTFOUND/i.test(words))
    return "endpoint= in SVC_OBJECTS_URL must be the address of a running S3 server that this machine can reach";
  return "check SVC_OBJECTS_URL, the keys and the rights on the bucket: put, get and delete below doctor/";
}
