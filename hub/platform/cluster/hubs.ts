import { withDeadline } from "#shared/kit/clock.ts";
import { firstLanAddress } from "#shared/kit/lan-address.ts";
import { KV_READ_TIMEOUT_MS } from "#shared/protocol/limits.ts";
import type { FleetPlace } from "#shared/protocol/link/messages.ts";
import type { HubConfig } from "../config.ts";
import type { ClusterContext } from "../context.ts";
import { placesOf } from "./own-places.ts";

/** How long a hub is in the registry (rules/cluster#registry-of-hubs). */
export const HUB_BEAT_MS = 30_000;
const HUB_EXPIRY_MS = 90_000;
/** The time until every hub's next beat, and what a beat takes. */
const TOLD_AGAIN_MS = HUB_BEAT_MS + 5_000;
const HUB_PREFIX = "hub:";

/** A live hub: the value of `hub:<id>` in the shared store. `at` epoch ms. */
export interface HubEntry {
  hub_id: string;
  /** Where other hubs reach it: `http://host:port`; empty while it starts. */
  url: string;
  version: string;
  /** Its other names (`SVC_ALLOWED_HOSTS`); hubs of earlier versions do not report them. */
  names?: string[];
  at: number;
  /** Every address at which it answers; absent in earlier versions. */
  places?: FleetPlace[];
}

const keyOf = (hub_id: string) => `${HUB_PREFIX}${hub_id}`;

/** Announces that this hub is alive, and where. */
export async function beatHubOnce(ctx: ClusterContext): Promise<void> {
  const { kv, hub_id, advertise, version, clock, cluster } = ctx;
  const { registered } = cluster;
  const at = clock.now();
  if (registered.entered && (await kv.get(keyOf(hub_id))) === null)
    registered.missed_at = clock.monotonic();
  const names = [...ctx.own_names, ...ctx.config.allowed_hosts].filter((name) => name !== "*");
  const places = placesOf(ctx, "hub");
  const entry: HubEntry = { hub_id, url: advertise.url, version, names, at, places };
  await kv.set(keyOf(hub_id), entry, HUB_EXPIRY_MS);
  registered.entered = true;
}

/**
 * False while the shared store may lack entries of other hubs: it has lost this hub's own entry, so it was emptied, and
 * every hub writes its entries again within 30 s. Until then, what is missing there may well exist.
 */
export async function storeIsWhole(ctx: ClusterContext): Promise<boolean> {
  const { registered, shared } = ctx.cluster;
  if (!shared || !registered.entered) return true;
  if ((await findHub(ctx, ctx.hub_id)) === null) return false;
  return (
    registered.missed_at === null || ctx.clock.monotonic() - registered.missed_at > TOLD_AGAIN_MS
  );
}

export const leaveHubs = (ctx: ClusterContext): Promise<void> => ctx.kv.delete(keyOf(ctx.hub_id));

async function everyHub({ kv, clock }: Pick<ClusterContext, "kv" | "clock">): Promise<HubEntry[]> {
  const read = kv.list<HubEntry>(HUB_PREFIX);
  const found = await withDeadline("hub registry", KV_READ_TIMEOUT_MS, read, clock);
  return found.map(({ value }) => value);
}

const registeredHubs = async (ctx: ClusterContext): Promise<HubEntry[]> =>
  (await everyHub(ctx)).filter(({ hub_id }) => hub_id !== ctx.hub_id);

/**
 * Versions of every live hub, including one that is starting.
 * @throws DeadlineError when the shared store does not answer.
 */
export async function hubVersions(
  ctx: Pick<ClusterContext, "kv" | "clock">,
  own: { hub_id: string; version: string } | null,
): Promise<string[]> {
  const others = (await everyHub(ctx)).filter(({ hub_id }) => hub_id !== own?.hub_id);
  return [...(own ? [own.version] : []), ...others.map(({ version }) => version)];
}

/** The other hubs that can be reached, by id. @throws DeadlineError when the shared store does not answer. */
export const otherHubs = async (ctx: ClusterContext): Promise<HubEntry[]> =>
  (await registeredHubs(ctx)).filter(({ url }) => url !== "");

/** Names of the other hubs: one of them may pass on a call, or a call may come through the same router. */
export const peerNames = async (ctx: ClusterContext): Promise<string[]> =>
  (await otherHubs(ctx)).flatMap(({ url, names = [] }) => [new URL(url).hostname, ...names]);

/** The hub with that id; null when it is not registered: it stopped, or was silent for 90 s. */
export const findHub = (ctx: ClusterContext, hub_id: string): Promise<HubEntry | null> =>
  withDeadline("hub registry", KV_READ_TIMEOUT_MS, ctx.kv.get<HubEntry>(keyOf(hub_id)), ctx.clock);

/** A hub that is starting counts too, so of two that start together, neither takes the other's jobs for leftovers. */
export const otherHubAlive = async (ctx: ClusterContext): Promise<boolean> =>
  (await registeredHubs(ctx)).length > 0;

const ANY_ADDRESS = /^(0\.0\.0\.0|::|\[::\]|\*?)$/;

/** Where other hubs reach a hub that listens on `host`: at its first LAN address if it listens on every address. */
export function advertisedUrl(
  { host, tls }: Pick<HubConfig, "host" | "tls">,
  port: number,
): string {
  const name = ANY_ADDRESS.test(host) ? firstLanAddress() : host;
  return `${tls ? "https" : "http"}://${name.includes(":") && !name.startsWith("[") ? `[${name}]` : name}:${port}`;
}
