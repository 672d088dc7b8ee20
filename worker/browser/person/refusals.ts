import type { Log } from "#shared/kit/log.ts";
import { CdpError } from "../cdp/connection.ts";

/** Waits for nothing, and tells what the browser refuses. Never rejects. */
export const tellRefusal = (
  answer: Promise<unknown>,
  onRefused: (refusal: CdpError) => void,
): Promise<void> =>
  answer.then(
    () => {},
    (err: unknown) => {
      if (err instanceof CdpError && !err.gone) onRefused(err);
    },
  );

/** Each refusal of Chromium's is told once: it is the same for every target. */
export function createRefusals(log: Log): (refusal: CdpError) => void {
  const told = new Set<string>();
  return (refusal) => {
    // Another session of the same process has set it, to the same.
    if (/already in effect/.test(refusal.message) || told.has(refusal.method)) return;
    told.add(refusal.method);
    log.warn({ err: refusal.message }, "the browser does not show what its options say");
  };
}
