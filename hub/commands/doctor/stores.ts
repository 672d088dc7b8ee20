import { randomBytes } from "node:crypto";
import { RedisClient } from "bun";
import { withDeadline } from "#shared/clock.ts";
import { errorMessage } from "#shared/errors.ts";
import { hideCredentials } from "#shared/hide-credentials.ts";
import { silentLog } from "#shared/log.ts";
import type { HubConfig } from "../../config.ts";
import { pendingOf, readSchemaState } from "../../db/schema-state.ts";
import { openObjects } from "../../stores/open-objects.ts";
import { readRedisUrl, whyNot } from "../../stores/redis-url.ts";
import { type Check, fail, ok, warn } from "./check.ts";

const REDIS_MS = 5_000;
const OBJECTS_MS = 15_000;
/** Leases and deadlines are reckoned in seconds. */
const MAX_SKEW_MS = 2_000;

/** How far `theirs` is off, whatever the way there took: 0 while it lies between asking and answer. Milliseconds. */
export const skewOf = (theirs: number, asked: number, answered: number): number => {
  if (theirs < asked) return theirs - asked;
  return theirs > answered ? theirs - answered : 0;
};

const clockText = (ms: number): string =>
  ms === 0
    ? "clocks agree"
    : `its clock is ${(Math.abs(ms) / 1_000).toFixed(1)} s ${ms < 0 ? "behind" : "ahead"}`;
const SET_CLOCK = "timedatectl set-ntp true, on both machines";

export async function checkDatabase({ db_url }: HubConfig): Promise<Check> {
  const name = "database";
  try {
    const state = await readSchemaState(db_url);
    if (!state.exists && state.dialect === "postgres")
      return fail(
        name,
        "the server has no database of this name",
        "create database (README, Several machines), or SVC_DB_URL must name the one that is there",
      );
    const kind = `${state.dialect === "sqlite" ? "SQLite" : "Postgres"} ${state.version}`;
    const pending = pendingOf(state);
    const skew = state.clock
      ? skewOf(state.clock.theirs, state.clock.asked, state.clock.answered)
      : 0;
    const found = `${kind}, ${state.applied.length} migrations${state.clock ? `, ${clockText(skew)}` : ""}`;
    if (Math.abs(skew) > MAX_SKEW_MS) return fail(name, found, SET_CLOCK);
    if (state.dialect === "postgres" && Number.parseInt(state.version, 10) < 13)
      return warn(name, found, "Postgres 13 or later is what is tested");
    if (state.applied.length === 0)
      return ok(name, `${kind}, empty: the first start makes the tables`);
    if (pending.length > 0)
      return warn(name, `${found}, ${pending.length} behind`, "flotilla migrate, or start the hub");
    return ok(name, found);
  } catch (err) {
    const said = hideCredentials(errorMessage(err));
    return fail(
      name,
      said,
      /newer/.test(said)
        ? "install the newer version here"
        : "SVC_DB_URL must name a server that runs",
    );
  }
}

/** Reachable, recent enough, and never throws state away: leases and registrations are in it. */
export async function checkRedis(url: string): Promise<Check> {
  const name = "redis";
  const client = new RedisClient(readRedisUrl(url), {
    ...{
      connectionTimeout: REDIS_MS,
      autoReconnect: false,
      enableOfflineQueue: true,
      maxRetries: 0,
    },
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
        "redis-cli config set maxmemory-policy noeviction (and in redis.conf)",
      );
    if (Number.parseInt(version, 10) < 6)
      return warn(name, found, "Redis 6 or later is what is tested");
    return ok(name, found);
  } catch (err) {
    // Bun says no more than that the connection was closed.
    const why = hideCredentials(await whyNot(readRedisUrl(url), err));
    return fail(
      name,
      why,
      /certificate/i.test(why)
        ? "NODE_EXTRA_CA_CERTS must name the PEM file of the authority that signed its certificate"
        : "SVC_REDIS_URL must name a server that runs: redis://:PASSWORD@host:6379/0",
    );
  } finally {
    client.close();
  }
}

/** One small object is written, read back and deleted. A directory is judged by the check of the disk. */
export async function checkObjects({ objects_url, object_keys }: HubConfig): Promise<Check> {
  const name = "objects";
  if (/^file:/i.test(objects_url))
    return ok(name, `${objects_url.replace(/^file:/i, "")} (a directory)`);
  const key = `doctor/probe-${randomBytes(6).toString("hex")}`;
  const body = randomBytes(64);
  const where = hideCredentials(objects_url);
  try {
    const store = await withDeadline(
      "objects",
      OBJECTS_MS,
      openObjects(objects_url, { log: silentLog, keys: object_keys }),
    );
    try {
      const ask = <T>(work: Promise<T>) => withDeadline("objects", OBJECTS_MS, work);
      const began = performance.now();
      await ask(store.put(key, body));
      const read = await ask(store.read(key));
      const same =
        read !== null && Buffer.from(await ask(new Response(read).arrayBuffer())).equals(body);
      await ask(store.delete(key));
      const took = `${Math.round(performance.now() - began)} ms`;
      if (!same)
        return fail(name, `${where} gave back another content`, "the store must be consistent");
      return ok(name, `${where}: written, read and deleted in ${took}`);
    } finally {
      await store.delete(key).catch(() => {});
      await store.close();
    }
  } catch (err) {
    return fail(
      name,
      hideCredentials(errorMessage(err)),
      "SVC_OBJECTS_URL, its keys and the bucket's rights: put, get and delete below doctor/",
    );
  }
}
