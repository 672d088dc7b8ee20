import { isoTimeOrNull } from "#shared/kit/clock.ts";
import type { Figures } from "#shared/protocol/schema/figures.ts";
import type { FleetContext } from "../context.ts";
import { fleetSetting } from "../registries/fleet-settings.ts";

/** What is stored, and how long there is room for it (rules/figures#storage). */

const DAY_MS = 86_400_000;
const PACE_DAYS = 7;
/** The pace of less than an hour says nothing about a day. */
const LEAST_MS = 3_600_000;
/** Beyond this no date is told: nobody knows the pace of next year. */
const MOST_DAYS = 730;

type Storage = Figures["storage"];

interface Room {
  stored: number;
  /** Until the reserve is reached. */
  room: number;
  bytes_per_day: number;
  retention_days: number;
  max_bytes: number;
}

/** Days until there is no room left; null where what is old is deleted before. */
export function daysUntilFull({ stored, room, bytes_per_day, ...kept }: Room): number | null {
  if (bytes_per_day <= 0) return null;
  const { retention_days, max_bytes } = kept;
  const most = stored + room;
  if (max_bytes > 0 && max_bytes <= most) return null;
  if (retention_days > 0 && bytes_per_day * retention_days <= most) return null;
  const days = room / bytes_per_day;
  return days > MOST_DAYS ? null : days;
}

export async function readStorage(
  ctx: Pick<FleetContext, "db" | "clock" | "disk_room" | "config" | "settings_cache">,
): Promise<Storage> {
  const { db, clock, disk_room, config } = ctx;
  const now = clock.now();
  const [bodies, recordings, others, week] = await Promise.all([
    db.jobs.fileBytes(),
    db.recordings.totalBytes(),
    db.figures.otherBytes(),
    db.figures.bytesSince(now - PACE_DAYS * DAY_MS),
  ]);
  const retention_days = await fleetSetting(ctx, "retention_days");
  const max_bytes = await fleetSetting(ctx, "retention_max_bytes");
  const span = Math.max(LEAST_MS, now - (week.first ?? now));
  const bytes_per_day = Math.round(((week.bodies + week.recordings) / span) * DAY_MS);
  const { disk, size_bytes } = disk_room;
  const here = config.objects_url.startsWith("file:");
  const days =
    disk === null || !here
      ? null
      : daysUntilFull({
          stored: bodies + recordings,
          room: Math.max(0, disk.free_bytes - disk.reserve_bytes),
          bytes_per_day,
          retention_days,
          max_bytes,
        });
  return {
    kinds: [
      { kind: "bodies", bytes: bodies },
      { kind: "recordings", bytes: recordings },
      { kind: "profiles", bytes: others.profiles },
      { kind: "database", bytes: others.database },
    ],
    free_bytes: disk?.free_bytes ?? null,
    size_bytes,
    reserve_bytes: disk?.reserve_bytes ?? null,
    bytes_per_day,
    full_at: isoTimeOrNull(days === null ? null : now + days * DAY_MS),
    retention_days,
  };
}
