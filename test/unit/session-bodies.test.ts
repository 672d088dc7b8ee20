import { afterEach, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "#shared/kit/clock.ts";
import { silentLog } from "#shared/kit/log.ts";
import { MOST_BODY_BYTES } from "#shared/recording/requests.ts";
import { CdpError, type CdpSession } from "#worker/browser/cdp/connection.ts";
import type { TraceEntry } from "#worker/browser/record/trace-entry.ts";
import { type BodyNote, createSessionBodies } from "#worker/browser/recording/session-bodies.ts";

/** Bodies of a session on their way to a hub that the test plays (rules/recordings#bodies-of-a-session). */

const opened: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0)) await close();
});

function rig({ begun = Promise.resolve() }: { begun?: Promise<void> } = {}) {
  const stored = new Map<string, string>();
  const hub = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      const text = await request.text();
      const sha256 = request.headers.get("x-sha256") ?? "";
      stored.set(sha256, `${new URL(request.url).searchParams.get("mime")} ${text}`);
      return Response.json({ sha256 });
    },
  });
  const root = mkdtempSync(join(tmpdir(), "flotilla-bodies-"));
  const dir = join(root, "run.bodies");
  opened.push(
    () => hub.stop(true),
    () => rmSync(root, { recursive: true }),
  );
  const place = {
    base_url: async () => hub.url.origin,
    worker_id: "w",
    job_id: null,
    session_id: "s",
    lease_token: () => 1,
    upload_token: () => "t",
  };
  const bodies = createSessionBodies({ dir, place, begun, clock: systemClock, log: silentLog });
  const take = (body: string | Error, of: Partial<TraceEntry> = {}, status = 200) => {
    const notes: BodyNote[] = [];
    const session = {
      sendBody: async (_method: string, _of: object, sink: { write(bytes: Uint8Array): void }) => {
        if (body instanceof Error) throw body;
        if (body !== "") sink.write(Buffer.from(body));
      },
    } as unknown as CdpSession;
    const response = { status, mime: "text/plain" };
    const entry = { method: "GET", received: 5, response, ...of } as TraceEntry;
    bodies.take({ session, id: "1", entry }, (note) => notes.push(note));
    return notes;
  };
  return { bodies, take, stored, dir };
}
const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

test("a body is named by its hash and sent once, however often it came", async () => {
  const { bodies, take, stored, dir } = rig();
  const notes = [take("hello"), take("hello"), take("other")];
  await bodies.close();
  expect(notes.map((told) => told.at(-1))).toEqual([
    { _body: sha256("hello") },
    { _body: sha256("hello") },
    { _body: sha256("other") },
  ]);
  expect(stored).toEqual(
    new Map([
      [sha256("hello"), "text/plain hello"],
      [sha256("other"), "text/plain other"],
    ]),
  );
  expect(existsSync(dir)).toBe(false);
});

test("what has no body has no note, and what cannot be read says why", async () => {
  const { bodies, take } = rig();
  expect(take("x", { method: "HEAD" })).toEqual([]);
  expect(take("x", {}, 304)).toEqual([]);
  expect(take("x", { response: null })).toEqual([]);
  const evicted = take(new CdpError("Network.getResponseBody", "evicted", -32_000, false));
  const large = take("x", { received: MOST_BODY_BYTES + 1 });
  await bodies.close();
  expect(evicted.at(-1)).toEqual({ _body_missing: "the browser had given it up" });
  expect(JSON.stringify(large)).toContain("at most 33554432 bytes each");
  expect(take("late")).toEqual([{ _body_missing: "it was not read before the session ended" }]);
});

test("nothing is sent before the hub has the beginning of the recording", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { bodies, take, stored } = rig({ begun: promise });
  const notes = take("hello");
  const closed = bodies.close();
  while (notes.length < 2) await new Promise((next) => setImmediate(next));
  expect(stored.size).toBe(0);
  resolve();
  await closed;
  expect(stored.size).toBe(1);
});
