import { withScheme } from "#shared/protocol/missing-scheme.ts";
import { UsageError } from "./exit.ts";

/** @throws UsageError unless `raw` is an absolute http(s) URL. */
export function checkTarget(raw: string): string {
  if (!URL.canParse(raw) || !/^https?:/i.test(raw)) {
    const meant = withScheme(raw);
    const hint = meant === null ? "" : `: did you mean ${meant}?`;
    throw new UsageError(`"${raw}" is not an http or https URL${hint}`);
  }
  return raw;
}
