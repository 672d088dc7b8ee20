import type { PlatformContext } from "#hub/platform/context.ts";
import type { SettingsRepo } from "#hub/platform/db/library-types.ts";
import { addLoop } from "#shared/kit/loop.ts";
import type { Scope } from "#shared/kit/scope.ts";
import { newToken } from "#shared/protocol/ids.ts";
import { FleetPlace } from "#shared/protocol/link/messages.ts";
import { advertisedUrl } from "./hubs.ts";
import { placesOf } from "./own-places.ts";

/**
 * Where processes of mode `control` listen, in the database that they share with hubs: Redis, which hubs share, is not
 * required of them. Hubs tell their workers, whose lanes must not open these places (rules/egress#never-reachable).
 */
const PREFIX = "control_place.";
const BEAT_MS = 30_000;
/** Clocks of machines may differ, and an address of a process that was killed is refused in vain, which harms less. */
const EXPIRY_MS = 3_600_000;

type Announcing = Pick<PlatformContext, "config" | "clock" | "log"> & {
  db: { settings: Pick<SettingsRepo, "set" | "list" | "delete"> };
};

/** Announces this control process until `scope` is closed. Resolves once hubs can read where it is. */
export async function announceControl(
  { config, clock, log, db: { settings } }: Announcing,
  port: number,
  scope: Scope,
): Promise<void> {
  const key = PREFIX + newToken().slice(0, 12);
  const url = config.advertise_url ?? advertisedUrl(config, port);
  const beat = async () => {
    const now = clock.now();
    await settings.set(key, placesOf({ config, advertise: { url, port } }, "control"), now);
    const known = await settings.list(PREFIX);
    for (const row of known) if (isOver(row, now)) await settings.delete(row.key);
  };
  scope.add("place of this process", settings, (repo) =>
    repo.delete(key).then(
      () => {},
      (err) => log.debug({ err }, "the place of this process stays in the database for an hour"),
    ),
  );
  await beat().catch((err) =>
    log.warn({ err }, "hubs do not know yet where this process is, which lanes must not open"),
  );
  addLoop(scope, { name: "place beat", everyMs: BEAT_MS, clock, log, pass: beat });
}

const isOver = ({ updated_at }: { updated_at: number }, now: number): boolean =>
  now - updated_at > EXPIRY_MS;

/** Where control processes listen that have this database. */
export async function controlPlaces(
  settings: Pick<SettingsRepo, "list">,
  now: number,
): Promise<FleetPlace[]> {
  const rows = await settings.list(PREFIX);
  return rows
    .filter((row) => !isOver(row, now))
    .flatMap(({ value }) => FleetPlace.array().safeParse(value).data ?? []);
}
