import { keySystemOf } from "./hls.ts";

/** What we must know about a DASH manifest before passing it on. */
export interface DashManifest {
  live: boolean;
  duration_s: number | null;
  drm: string | null;
}

/** Seconds of an ISO 8601 duration of hours, minutes and seconds, with days at most. */
export function isoSeconds(text: string): number | null {
  const [all, days, hours, minutes, seconds] =
    /^P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:([\d.]+)S)?)?$/.exec(text) ?? [];
  if (!all) return null;
  const part = (value: string | undefined) => Number(value ?? 0);
  return ((part(days) * 24 + part(hours)) * 60 + part(minutes)) * 60 + part(seconds);
}

/** Reads an MPD (ISO/IEC 23009-1); null when the text is not an MPD. */
export function parseDash(raw: string): DashManifest | null {
  const text = raw.replace(/<!--[\s\S]*?-->/g, "");
  const root = /<(?:[\w-]+:)?MPD\b[^>]*>/.exec(text)?.[0];
  if (!root) return null;
  const length = /\bmediaPresentationDuration\s*=\s*["']([^"']+)["']/.exec(root)?.[1];
  const protection = text.match(/<(?:[\w-]+:)?ContentProtection\b[^>]*>/g);
  return {
    live: /\btype\s*=\s*["']dynamic["']/.test(root),
    duration_s: length === undefined ? null : isoSeconds(length),
    drm: protection ? keySystemOf(protection.join(" ")) : null,
  };
}
