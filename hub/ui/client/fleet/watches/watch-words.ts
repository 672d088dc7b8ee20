import type { JobChanges } from "#shared/protocol/schema/job-changes.ts";
import type { Watch } from "#shared/protocol/schema/watch.ts";
import { countText, durationText } from "../../lib/units.ts";

/** When it is due. */
export function scheduleText({ cron, cron_tz, every_s, paused }: Watch): string {
  const when =
    every_s === null ? `${cron ?? ""} (${cron_tz})` : `every ${durationText(every_s * 1_000)}`;
  return paused ? `paused; ${when}` : when;
}

/** What changed, in one line. */
export function changesText({ parts, text, title, status, assets }: JobChanges): string {
  const of = {
    text: text ? `text lines: ${countText(text.added)} new, ${countText(text.removed)} gone` : "",
    title: `title: ${title.before ?? "none"} → ${title.after ?? "none"}`,
    status: `status: ${status.before ?? "none"} → ${status.after ?? "none"}`,
    assets: `assets: ${countText(assets.new)} new, ${countText(assets.gone)} gone, ${countText(assets.changed)} changed`,
  };
  return parts.map((part) => of[part]).join("; ");
}
