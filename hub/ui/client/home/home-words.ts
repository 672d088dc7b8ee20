import type { Figures } from "#shared/protocol/schema/figures.ts";
import { bytesText } from "../lib/units.ts";

/** What Home says in words of its own. */

const DAY_MS = 86_400_000;

/** In the unit that a person would name: 5 h, 4 days, 11 weeks. */
function roughText(ms: number): string {
  const days = ms / DAY_MS;
  if (days < 2) return `${Math.max(1, Math.round(ms / 3_600_000))} h`;
  return days < 21 ? `${Math.round(days)} days` : `${Math.round(days / 7)} weeks`;
}

/** How long there is room, as far as anybody can know. */
export function forecastText(
  { retention_days, bytes_per_day, full_at }: Figures["storage"],
  now: number,
) {
  const kept = retention_days === 0 ? "Kept for ever" : `Kept for ${retention_days} days`;
  if (bytes_per_day === 0) return `${kept}. Nothing came in the last week.`;
  const pace = `${bytesText(bytes_per_day)} a day`;
  if (full_at === null) return `${kept}. ${pace}.`;
  return `${kept}. At ${pace}, full in ${roughText(Date.parse(full_at) - now)}.`;
}

/** 0:42, 3:10, 1:02:09. */
export function runningText(ms: number): string {
  const s = Math.max(0, Math.floor(ms / 1_000));
  const two = (n: number) => String(n).padStart(2, "0");
  const h = Math.floor(s / 3_600);
  const min = Math.floor(s / 60) % 60;
  return h > 0 ? `${h}:${two(min)}:${two(s % 60)}` : `${min}:${two(s % 60)}`;
}

/** A name for it that nobody has to think of: of the model, as slugs are written. */
export const slugOf = (model: string): string =>
  model
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 40) || "engine";
