import { errorMessage } from "#shared/kit/errors.ts";
import { unlessGone } from "../hub-client.ts";
import { CLEAN_MS, type Part, timed } from "./part.ts";
import { type Measured, measured } from "./stats.ts";

interface SessionsAsked {
  count: number;
  url: string;
  headless: boolean;
}

/** One that this program could not close ends by itself. */
const IDLE_S = 60;
const OPEN_MS = 90_000;

/** Sessions one after another: opened at a page, asked for something, closed. */
export async function benchSessions(
  { client, clock, signal, progress }: Part,
  { count, url, headless }: SessionsAsked,
): Promise<Measured[]> {
  const times = { open: [] as number[], action: [] as number[], close: [] as number[] };
  let failed = 0;
  let error: string | null = null;
  const json = { url, headless, idle_ttl_s: IDLE_S };
  const close = async (sid: string): Promise<void> => {
    await client.call("DELETE /sessions/{sid}", { params: { sid }, timeout_ms: CLEAN_MS });
  };
  for (let n = 1; n <= count && !signal.aborted; n += 1) {
    progress.step("sessions", `${n} of ${count}`);
    let sid: string | null = null;
    try {
      const [opened, open_ms] = await timed(clock, () =>
        client.call("POST /sessions", { json, timeout_ms: OPEN_MS, signal }),
      );
      const open = opened.session_id;
      sid = open;
      const [, action_ms] = await timed(clock, () =>
        client.call("POST /sessions/{sid}/evaluate", {
          params: { sid: open },
          json: { code: "document.title" },
          signal,
        }),
      );
      sid = null;
      const [, close_ms] = await timed(clock, () => close(open));
      times.open.push(open_ms);
      times.action.push(action_ms);
      times.close.push(close_ms);
    } catch (err) {
      if (signal.aborted) break;
      failed += 1;
      error ??= errorMessage(err);
    } finally {
      if (sid !== null) await close(sid).catch(unlessGone);
    }
  }
  return [
    measured("session, opened at a page", times.open, { failed, error }),
    measured("  one action", times.action),
    measured("  closed", times.close),
  ];
}
