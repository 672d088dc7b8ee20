import { firstLanAddress } from "#shared/lan-address.ts";
import { KV_READ_TIMEOUT_MS } from "#shared/limits.ts";
import type { HubContext } from "../context.ts";
import { within } from "./deadline.ts";

/** Fleet spec §8: the hub registry. */
export const HUB_BEAT_MS = 30_000;
const HUB_EXPIRY_MS = 90_000;
const HUB_PREFIX = "hub:";

/** A live hub: the value of `hub:<id>` in the shared store. `at` epoch ms. */
export interface HubEntry {
  hub_id: string;
  /** Where the other hubs reach it: `http://host:port`; empty while it starts. */
  url: string;
  version: string;
  at: number;
}

const keyOf = (hub_id: string) => `${HUB_PREFIX}${hub_id}`;

/** Says that this hub lives, and where. */
export const beatHubOnce = ({ kv, hub_id, advertise, version, clock }: HubContext): Promise<void> =>
  kv.set(
    keyOf(hub_id),
    { hub_id, url: advertise.url, version, at: clock.now() } satisfies HubEntry,
    HUB_EXPIRY_MS,
  );

export const leaveHubs = (ctx: HubContext): Promise<void> => ctx.kv.delete(keyOf(ctx.hub_id));

async function registeredHubs(ctx: HubContext): Promise<HubEntry[]> {
  const read = ctx.kv.list<HubEntry>(HUB_PREFIX);
  const found = await within(ctx.clock, "hub registry", KV_READ_TIMEOUT_MS, read);
  return found.map(({ value }) => value).filter(({ hub_id }) => hub_id !== ctx.hub_id);
}

/** The other hubs that can be reached, by id. @throws DeadlineError when the shared store does not answer. */
export const otherHubs = async (ctx: HubContext): Promise<HubEntry[]> =>
  (await registeredHubs(ctx)).filter(({ url }) => url !== "");

/** The hub of that id; null when it is not registered: it stopped, or has not been heard of for 90 s. */
export const findHub = (ctx: HubContext, hub_id: string): Promise<HubEntry | null> =>
  within(ctx.clock, "hub registry", KV_READ_TIMEOUT_MS, ctx.kv.get<HubEntry>(keyOf(hub_id)));

/** One that is starting counts: of two that start together neither takes the other's jobs for leftovers. */
export const otherHubAlive = async (ctx: HubContext): Promise<boolean> =>
  (await registeredHubs(ctx)).length > 0;

const ANY_ADDRESS = /^(0\.0\.0\.0|::|\[::\]|\*?)$/;

/** Where other hubs reach one that listens on `host`: its first LAN address when it listens on every address. */
export function advertisedUrl(host: string, port: number): string {
  const name = ANY_ADDRESS.test(host) ? firstLanAddress() : host;
  return `http://${name.includes(":") && !name.startsWith("[") ? `[${name}]` : name}:${port}`;
}
