import { IconAlertTriangle, IconFileDiff } from "@tabler/icons-react";
import { FIRST_HTTP_ERROR } from "#shared/protocol/limits.ts";
import type { Job } from "#shared/protocol/schema/job.ts";
import { type Look, look, lookOf } from "./look.ts";

/**
 * What a worker writes when the host's login did not work (worker/browser/fetch/recipes.ts), and the hub when the last
 * attempt met a page that asks for one (hub/fleet/codegen/loop.ts). Selectors and pages have these words too, so that
 * only the whole sentence counts.
 */
export const LOGIN_NEEDED =
  /^login failed: |^the goal was not reached in [^(]+\([a-z_, ]*credentials_missing\): /;

/** Why a job failed, in two words; the first that its error says. */
const REASONS: readonly [RegExp, string][] = [
  [LOGIN_NEEDED, "login needed"],
  [/does not resolve|ERR_NAME_NOT_RESOLVED/, "no such host"],
  [/refused the connection|ERR_CONNECTION_REFUSED/, "connection refused"],
  [/certificate|the TLS connection|ERR_CERT|ERR_SSL/, "bad certificate"],
  [/redirects in a loop|ERR_TOO_MANY_REDIRECTS/, "redirect loop"],
  [/^queue timeout/, "no browser"],
  [/no answer within|did not answer in time|ERR_TIMED_OUT|max_wait|timed? ?out/i, "too slow"],
  [/the proxy/, "proxy failed"],
  [/refused to open/, "not allowed"],
  [/could not open|cannot be reached/, "not reached"],
  [/judged|wrong_result|goal/i, "wrong result"],
  [/SyntaxError|bad_script|is not defined/, "script error"],
  [/no engine|engine/i, "engine failed"],
  [/recipe/i, "recipe failed"],
  [/crashed|connection to Chromium|was closed|lease|worker .*(gone|lost)/i, "browser lost"],
];

export const failureReason = (error: string | null): string | null =>
  error === null ? null : (REASONS.find(([says]) => says.test(error))?.[1] ?? null);

/** 1st, 2nd, 3rd, 4th, 11th, 21st. */
export function ordinal(n: number): string {
  const teen = n % 100 > 10 && n % 100 < 14;
  return `${n}${(teen ? null : { 1: "st", 2: "nd", 3: "rd" }[n % 10]) ?? "th"}`;
}

type Told = Pick<Job, "status" | "http_status" | "changed" | "error" | "queue_position">;

/** Never green for a page that answered with an error. */
export function jobLook(job: Told): Look {
  const { word, tone, icon } = lookOf(job.status);
  if (job.status === "queued" && job.queue_position !== null)
    return look(`${word} · ${ordinal(job.queue_position)}`, tone, icon);
  if (job.status === "failed") {
    const reason = failureReason(job.error);
    return look(reason === null ? word : `${word} · ${reason}`, tone, icon);
  }
  if (job.status !== "completed") return look(word, tone, icon);
  if (job.http_status !== null && job.http_status >= FIRST_HTTP_ERROR)
    return look(`${word} · ${job.http_status}`, "warn", IconAlertTriangle);
  return job.changed ? look(`${word} · changed`, "live", IconFileDiff) : look(word, tone, icon);
}
