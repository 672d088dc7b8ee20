import { controlPlaces } from "#hub/platform/cluster/control-places.ts";
import { otherHubs } from "#hub/platform/cluster/hubs.ts";
import { placeAt, placesOf } from "#hub/platform/cluster/own-places.ts";
import type { FleetPlace } from "#shared/protocol/link/messages.ts";
import type { FleetContext } from "../context.ts";
import type { PlacesContext } from "./link-contexts.ts";
import type { WorkerEntry } from "./parts.ts";
import { readFleet } from "./view.ts";
import type { WorkerLink } from "./worker-link.ts";

/** The addresses that no lane of the fleet may open, as far as this hub knows. */
interface Known {
  at: number;
  places: FleetPlace[];
  /** Says whether a worker knows the list already. */
  text: string;
}

/** With a thousand workers in a fleet, one look serves all of them. */
const LOOK_EVERY_MS = 60_000;
const MAX_PLACES = 10_000;

const known = new WeakMap<FleetContext["cluster"], Known>();
const looking = new WeakMap<FleetContext["cluster"], Promise<void>>();

/** The viewer bridges of a worker, as a range: their ports are consecutive. */
function bridgesOf({ address, capabilities }: WorkerEntry): FleetPlace[] {
  const ports = capabilities.lane_novnc_urls
    .flatMap((url) => placeAt(url, "bridge"))
    .map(({ from }) => from);
  if (ports.length === 0 || address === "") return [];
  return [{ host: address, from: Math.min(...ports), to: Math.max(...ports), is: "bridge" }];
}

async function look(ctx: PlacesContext): Promise<void> {
  const [hubs, controls, workers] = await Promise.all([
    ctx.cluster.shared ? otherHubs(ctx).catch(() => null) : [],
    controlPlaces(ctx.db.settings, ctx.clock.now()).catch(() => null),
    readFleet(ctx).catch(() => null),
  ]);
  // What cannot be read now is still there.
  const before = hubs && controls && workers ? [] : (known.get(ctx.cluster)?.places ?? []);
  const all = [
    ...placesOf(ctx, "hub"),
    ...before,
    ...(controls ?? []),
    ...(hubs ?? []).flatMap(({ url, places = [] }) => [...placeAt(url, "hub"), ...places]),
    ...(workers ?? []).flatMap(bridgesOf),
  ];
  const unique = new Map(all.map((place) => [JSON.stringify(place), place]));
  const text = [...unique.keys()].sort().join();
  const places = [...unique.values()].slice(0, MAX_PLACES);
  known.set(ctx.cluster, { at: ctx.clock.monotonic(), places, text });
}

/** Looks again when the last look was long ago; callers that ask meanwhile wait for the same look. */
async function knownPlaces(ctx: PlacesContext): Promise<Known | null> {
  const { cluster, clock } = ctx;
  const before = known.get(cluster);
  if (before && clock.monotonic() - before.at < LOOK_EVERY_MS) return before;
  const running = looking.get(cluster) ?? look(ctx).finally(() => looking.delete(cluster));
  looking.set(cluster, running);
  await running;
  return known.get(cluster) ?? null;
}

/** For the worker's welcome. */
export async function placesFor(
  ctx: PlacesContext,
  link: WorkerLink,
): Promise<{ fleet_places?: FleetPlace[] }> {
  const now = await knownPlaces(ctx);
  if (now === null) return {};
  link.told_places = now.text;
  return { fleet_places: now.places };
}

/** Sends a worker what has changed since the last message. */
export async function tellPlaces(ctx: PlacesContext, link: WorkerLink): Promise<void> {
  const now = await knownPlaces(ctx);
  if (now === null || link.told_places === now.text || !link.open) return;
  link.told_places = now.text;
  link.send({ type: "HubHeartbeatAck", fleet_places: now.places });
}
