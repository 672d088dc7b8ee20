import { expect, test } from "bun:test";
import { systemClock } from "#shared/kit/clock.ts";
import { silentLog } from "#shared/kit/log.ts";
import { BROWSER_STARTING } from "#shared/protocol/link/messages.ts";
import { createFakeBrowser } from "#test/support/fakes/fake-browser.ts";
import { objectsHeld } from "#test/support/models/heap.ts";
import { createTypicalSizes } from "#worker/browser/block/typical-sizes.ts";
import { answerCall, type CallDeps } from "#worker/browser/session/calls.ts";
import type { SessionLink } from "#worker/browser/session/link.ts";
import { Live } from "#worker/browser/session/live.ts";
import { createSessions } from "#worker/browser/session/live-session.ts";
import { createJudge } from "#worker/egress/judge.ts";

/** A session as it is before its browser has come. */
const newLive = () =>
  new Live(
    {
      sessions: createSessions(),
      clock: systemClock,
      guard: createJudge({ navigation_block: [], own_ports: [] }),
      log: silentLog,
      download_max_bytes: 1,
      sizes: createTypicalSizes(),
    },
    {
      session_id: "s1",
      lane_idx: 0,
      lease_token: 1,
      job_id: null,
      hold: {
        lane_idx: 0,
        browser: async () => createFakeBrowser(true),
        restart: async () => createFakeBrowser(true),
        release: async () => {},
      },
    },
  );

// A call without a browser uses nothing else of them.
const deps = { clock: systemClock } as CallDeps;
const link = {} as SessionLink;

test.each(["preview", "markdown", "cookies_get"])(
  "%s says that the browser is still starting, and that it is worth another try (rules/session-actions#failed-actions)",
  async (action) => {
    const message = {
      type: "HubSessionCall",
      call_id: "c1",
      session_id: "s1",
      action,
      args: {},
      timeout_ms: 1_000,
    } as const;
    expect(await answerCall(newLive(), link, message, deps)).toMatchObject({
      ok: false,
      kind: "broken",
      error: {
        name: BROWSER_STARTING,
        message: "the browser is still starting: try again in a moment",
      },
    });
  },
);

test("a session keeps nothing of the calls that it has answered", async () => {
  const live = newLive();
  const answer = (call_id: string) =>
    answerCall(
      live,
      link,
      {
        type: "HubSessionCall",
        call_id,
        session_id: "s1",
        timeout_ms: 1_000,
        action: "take_name",
        args: { name: `${call_id}.txt`, mime: "text/plain" },
      },
      deps,
    );
  const after = async (count: number) => {
    let good = 0;
    for (let i = 0; i < count; i += 1) if ((await answer(`c${i}`)).ok) good += 1;
    expect(good).toBe(count);
    return objectsHeld();
  };
  const before = await after(2_000);
  // Even one object kept of each would be 2,000.
  expect((await after(2_000)) - before).toBeLessThan(1_000);
});
