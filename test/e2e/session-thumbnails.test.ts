import { afterAll, beforeAll, expect, test } from "bun:test";
import { lastPicture } from "#hub/fleet/recordings/thumbnail/last-picture.ts";
import { smallWebp } from "#hub/fleet/recordings/thumbnail/small-webp.ts";
import type { PastSession } from "#shared/protocol/schema/session.ts";
import type { Recording } from "#shared/recording/record.ts";
import {
  type FleetProcesses,
  processesOf,
  startFleet,
  until,
} from "#test/support/rigs/fleet-process.ts";
import { lookAtWebp } from "#test/support/rigs/webp-colour.ts";
import { TAG_SWITCH } from "#worker/browser/process/tagged.ts";

/** What remains to be seen of sessions of real browsers (rules/recordings#the-small-picture-of-a-session). */

const LONG_MS = 180_000;
const GREEN = [20, 160, 60];
const PAGE = `<!doctype html><title>Green</title>
<style>html { height: 100%; background: rgb(${GREEN}) }</style>`;
/** What one list shows of a session, and more than a busy screen comes to. */
const MOST_BYTES = 40 * 1024;

let fleet: FleetProcesses;
let site: ReturnType<typeof Bun.serve>;
beforeAll(async () => {
  site = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: () => new Response(PAGE, { headers: { "content-type": "text/html" } }),
  });
  fleet = await startFleet({ lanes: 1, env: { SVC_DRAIN_TIMEOUT_S: "1" } });
}, LONG_MS);
afterAll(async () => {
  await fleet?.stop();
  await site?.stop(true);
}, LONG_MS);

const json = async <T>(path: string, init?: RequestInit): Promise<T> =>
  (await (await fetch(fleet.url + path, init)).json()) as T;

/** A session on the green page, once its recording has a picture. */
async function greenSession(headless: boolean): Promise<string> {
  await fleet.lanesWarm(LONG_MS);
  const { session_id } = await json<{ session_id: string }>("/sessions", {
    method: "POST",
    body: JSON.stringify({ url: site.url.href, headless }),
    headers: { "content-type": "application/json" },
  });
  // A browser that is new is recorded while it is still white.
  await until("the page in the recording", LONG_MS, async () =>
    isGreen(await recordedLast(session_id)),
  );
  return session_id;
}

/** What a recording that goes on shows last, as a WebP; null while it has no picture. */
async function recordedLast(session_id: string): Promise<Uint8Array | null> {
  const path = `/sessions/${session_id}/recording`;
  const { chunks = [] } = await json<Partial<Recording>>(path);
  const bytes = new Uint8Array(await (await fetch(`${fleet.url}${path}/data`)).arrayBuffer());
  const picture = await lastPicture({
    chunks,
    read: async ({ offset, length }) => new Blob([bytes.slice(offset, offset + length)]).stream(),
    signal: new AbortController().signal,
  });
  return picture && smallWebp(picture);
}

async function isGreen(webp: Uint8Array | null): Promise<boolean> {
  if (webp === null) return false;
  const { colour } = await lookAtWebp(webp);
  return colour.every((n, i) => Math.abs(n - (GREEN[i] ?? 0)) < 10);
}

/** Its record in the list of past sessions, once its recording has ended. */
const pictured = (session_id: string) =>
  until("the picture in the list", LONG_MS, async () => {
    const { sessions } = await json<{ sessions: PastSession[] }>("/sessions?status=ended");
    const record = sessions.find((one) => one.session_id === session_id);
    return record?.thumbnail_href ? record : null;
  });

async function judge(href: string, width: number): Promise<void> {
  const answer = await fetch(fleet.url + href);
  expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "image/webp"]);
  const webp = new Uint8Array(await answer.arrayBuffer());
  expect(webp.length).toBeLessThan(MOST_BYTES);
  const look = await lookAtWebp(webp);
  expect(look.width).toBe(width);
  expect(look.colour).toEqual(GREEN.map((n) => expect.closeTo(n, -1.3)));
}

for (const headless of [false, true])
  test(
    `a ${headless ? "headless" : "headful"} session that was ended has a picture of its page`,
    async () => {
      const session_id = await greenSession(headless);
      const early = await fetch(`${fleet.url}/sessions/${session_id}/thumbnail.webp`);
      expect(early.status).toBe(404);
      await fetch(`${fleet.url}/sessions/${session_id}`, { method: "DELETE" });
      const { thumbnail_href } = await pictured(session_id);
      await judge(thumbnail_href ?? "", 320);
    },
    LONG_MS,
  );

test(
  "a headless session whose browser was killed has the picture of its page, too",
  async () => {
    const session_id = await greenSession(true);
    const browser = processesOf(fleet.dir).find(
      ({ command, state }) =>
        state !== "Z" && command.includes(TAG_SWITCH) && !command.includes("--type="),
    );
    if (!browser) throw new Error("no browser runs");
    process.kill(browser.pid, "SIGKILL");
    const { thumbnail_href, end_reason } = await pictured(session_id);
    expect(end_reason).toContain("the browser ended");
    await judge(thumbnail_href ?? "", 320);
  },
  LONG_MS,
);
