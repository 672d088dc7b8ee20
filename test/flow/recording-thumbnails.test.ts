import { afterEach, expect, test } from "bun:test";
import { sealPart } from "#hub/fleet/recordings/append.ts";
import { retainRecordings } from "#hub/fleet/recordings/keep.ts";
import { createClient } from "#shared/client/index.ts";
import { jpegUpdate } from "#test/support/rigs/made-recording.ts";
import {
  BLUE,
  made,
  near,
  RED,
  type VideoRig,
  videoRig,
  whole,
} from "#test/support/rigs/video-rig.ts";
import { lookAtWebp } from "#test/support/rigs/webp-colour.ts";

/** The small pictures of sessions that have ended (rules/recordings#the-small-picture-of-a-session). */

let rig: VideoRig;
afterEach(() => rig.close());

/** A session with this recording that has ended, or is open still. */
async function session(bytes: Uint8Array, { open = false } = {}) {
  rig = await videoRig();
  const { session_id } = await rig.recordedSession(bytes);
  const run_id = `s-${session_id}`;
  const href = `/sessions/${session_id}/thumbnail.webp`;
  if (!open) await rig.hub.call("DELETE", `/sessions/${session_id}`);
  return { session_id, run_id, href, key: `recordings/${run_id}/thumbnail.webp` };
}
const listed = async (): Promise<string | null> =>
  (await rig.hub.call("GET", "/sessions?status=ended")).body.sessions[0].thumbnail_href;
const get = (href: string) => fetch(rig.hub.url + href);
const bytesOf = async (answer: Response) => new Uint8Array(await answer.arrayBuffer());
const refusal = async (href: string) => {
  const { status, body } = await rig.hub.call("GET", href);
  return { status, detail: body.detail };
};

test("a session that has ended has a picture of what its screen showed last, until its recording is deleted", async () => {
  const { session_id, href, key } = await session(whole());
  const { objects } = rig.hub.ctx;
  expect(await listed()).toBe(href);
  expect(await objects.stat(key)).toBeNull();
  const answer = await get(href);
  expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "image/webp"]);
  expect(answer.headers.get("cache-control")).toBe("private, max-age=600");
  const webp = await bytesOf(answer);
  expect(await lookAtWebp(webp)).toEqual({ width: 64, height: 48, colour: near(BLUE) });
  // It is drawn once: from now on what lies there is answered.
  expect((await objects.stat(key))?.size).toBe(webp.length);
  await objects.put(key, Buffer.from("kept"));
  const { sessions } = createClient({ base_url: rig.hub.url });
  expect(await (await sessions.thumbnail(session_id)).text()).toBe("kept");
  await rig.hub.call("PATCH", "/settings", { recording_max_bytes: 1 });
  await retainRecordings(rig.hub.ctx);
  expect(await objects.list("recordings")).toEqual([]);
  expect(await refusal(href)).toEqual({ status: 404, detail: "recording not found" });
  expect(await listed()).toBeNull();
});

test("a recording that goes on has no picture yet, and one that was cut has one as far as it goes", async () => {
  const bytes = made().chunk(400).plain(500, RED).done().bytes;
  const { session_id, run_id, href } = await session(bytes, { open: true });
  expect(await refusal(href)).toMatchObject({
    status: 404,
    detail: expect.stringContaining("its recording goes on"),
  });
  await rig.hub.call("DELETE", `/sessions/${session_id}`);
  expect(await listed()).toBeNull();
  const part = rig.hub.ctx.recordings.by_run.get(run_id);
  if (!part) throw new Error("the recording is not open");
  await sealPart(rig.hub.ctx, part, "cut");
  expect(await listed()).toBe(href);
  expect(await lookAtWebp(await bytesOf(await get(href)))).toMatchObject({ colour: near(RED) });
});

test("a session of which only events were recorded has no picture", async () => {
  const { href } = await session(made().end(10).done().bytes);
  expect(await listed()).toBeNull();
  expect(await refusal(href)).toMatchObject({
    status: 404,
    detail: expect.stringContaining("its screen was not recorded"),
  });
  expect(await refusal("/sessions/unknown/thumbnail.webp")).toMatchObject({ status: 404 });
});

test("a screen that cannot be drawn is tried once, and lists do not name it again", async () => {
  const nonsense = jpegUpdate(64, 48, new Uint8Array(50));
  const { href, key } = await session(made().chunk(1).screen(2, nonsense).end(3).done().bytes);
  expect(await listed()).toBe(href);
  expect(await refusal(href)).toMatchObject({
    status: 404,
    detail: expect.stringContaining("cannot be drawn"),
  });
  expect(await listed()).toBeNull();
  expect(await rig.hub.ctx.objects.stat(key)).toBeNull();
});

test("whoever asks at the same time gets the same picture, which is drawn once", async () => {
  const { href, key } = await session(whole());
  const { objects } = rig.hub.ctx;
  const { put } = objects;
  const stored: string[] = [];
  objects.put = (at, body, options) => {
    stored.push(at);
    return put.call(objects, at, body, options);
  };
  const all = await Promise.all(Array.from({ length: 8 }, async () => bytesOf(await get(href))));
  expect(new Set(all.map((webp) => Buffer.from(webp).toString("hex"))).size).toBe(1);
  expect(stored).toEqual([key]);
});

test("a picture that cannot be kept is answered, and drawn again", async () => {
  const { href, key } = await session(whole());
  const { objects } = rig.hub.ctx;
  const { put } = objects;
  objects.put = () => Promise.reject(new Error("no room"));
  expect(await lookAtWebp(await bytesOf(await get(href)))).toMatchObject({ colour: near(BLUE) });
  objects.put = put;
  expect(await objects.stat(key)).toBeNull();
  expect((await get(href)).status).toBe(200);
  expect(await objects.stat(key)).not.toBeNull();
});

test("a recording that is deleted while its picture is drawn leaves none behind", async () => {
  const { href, run_id } = await session(whole());
  const { objects, db } = rig.hub.ctx;
  const { read } = objects;
  objects.read = async (key, range) => {
    const body = await read.call(objects, key, range);
    if (range !== undefined) {
      await objects.deletePrefix(`recordings/${run_id}`);
      await db.recordings.delete(run_id);
    }
    return body;
  };
  expect((await refusal(href)).status).toBe(404);
  expect(await objects.list("recordings")).toEqual([]);
});
