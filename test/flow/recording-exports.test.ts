import { afterEach, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { retainRecordings } from "#hub/fleet/recordings/keep.ts";
import { sweepExports } from "#hub/fleet/recordings/video/exports.ts";
import { createDiskRoom } from "#hub/platform/stores/disk-room.ts";
import { checkVideos } from "#hub/program/commands/doctor/machine.ts";
import { createClient } from "#shared/client/index.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import {
  fakeFfmpeg,
  made,
  RED,
  type VideoRig,
  videoRig,
  whole,
} from "#test/support/rigs/video-rig.ts";

/** What becomes of exports: their turn, their keys, and their ends (rules/recordings#export-as-a-video). */

const LONG_MS = 60_000;
/** Makes the file at once, whatever it is given. */
const QUICK = 'cat > /dev/null; for last; do :; done; printf "a video" > "$last"';

let rig: VideoRig;
const dirs: string[] = [];
afterEach(async () => {
  await rig?.close();
  for (const dir of dirs.splice(0)) rmSync(dir, { recursive: true, force: true });
});
const newDir = () => {
  const dir = mkdtempSync(join(tmpdir(), "flotilla-exports-"));
  dirs.push(dir);
  return dir;
};
const start = async (text: string) => {
  rig = await videoRig({ SVC_FFMPEG: fakeFfmpeg(newDir(), text), SVC_LINK_GRACE_S: "0" });
  return rig;
};

test("exports are made one after the other", async () => {
  const gate = join(newDir(), "gate");
  await start(`while [ ! -e ${gate} ]; do read -r _ < /dev/null; sleep 0.05; done; ${QUICK}`);
  const first = await rig.recordedJob(whole());
  const second = await rig.recordedJob(whole());
  await rig.ask(first.path);
  await rig.ask(second.path, { format: "webm" });
  await until("the first is made", LONG_MS, async () => {
    const [one] = await rig.exportsOf(first.path);
    return one?.status === "running";
  });
  expect(await rig.exportsOf(second.path)).toMatchObject([{ status: "queued", progress: 0 }]);
  expect(readdirSync(join(rig.hub.ctx.config.data_dir, "exports"))).toHaveLength(1);
  writeFileSync(gate, "");
  for (const [{ path }, format] of [
    [first, "mp4"],
    [second, "webm"],
  ] as const)
    expect(await rig.ended(path, format)).toMatchObject({ status: "done", bytes: 7 });
  expect(await rig.exportsOf(first.path)).toHaveLength(1);
}, 60_000);

test("a session's recording is exported as well, and its list has pages", async () => {
  await start(QUICK);
  const { session_id, path } = await rig.recordedSession(whole());
  const { sessions } = createClient({ base_url: rig.hub.url });
  for (const format of ["mp4", "webm"] as const) {
    await sessions.exportRecording(session_id, { format });
    expect(await rig.ended(path, format)).toMatchObject({ status: "done", format });
  }
  const page = (await rig.hub.call("GET", `${path}/exports?limit=1`)).body;
  expect(page).toMatchObject({ items: [{ format: "mp4" }], next_cursor: "mp4" });
  const rest = (await rig.hub.call("GET", `${path}/exports?limit=1&cursor=${page.next_cursor}`))
    .body;
  expect(rest).toMatchObject({ items: [{ format: "webm" }], next_cursor: null });
  const video = await sessions.recordingVideo(session_id, "webm");
  expect(await video.text()).toBe("a video");
  expect(await rig.command([session_id], { out: [join(newDir(), "saved.mp4")] })).toMatchObject({
    code: 0,
  });
}, 60_000);

test("a file is asked for again by its tag and by its parts", async () => {
  await start(QUICK);
  const { path } = await rig.recordedJob(whole());
  await rig.ask(path);
  await rig.ended(path);
  const url = `${rig.hub.url}${path}/video.mp4`;
  const answer = await fetch(url);
  const etag = answer.headers.get("etag") ?? "";
  expect(answer.headers.get("accept-ranges")).toBe("bytes");
  expect((await fetch(url, { headers: { "If-None-Match": etag } })).status).toBe(304);
  const part = await fetch(url, { headers: { Range: "bytes=2-" } });
  expect([part.status, await part.text()]).toEqual([206, "video"]);
  expect((await fetch(url, { headers: { Range: "bytes=99-" } })).status).toBe(416);
  expect((await fetch(`${rig.hub.url}${path}/video.webm`)).status).toBe(404);
});

/** What the hub's disk says it has; takes effect with the next look. */
async function diskWith(free_bytes: number): Promise<void> {
  const { ctx } = rig.hub;
  const { clock, log } = ctx;
  const ask = async () => ({ free_bytes, size_bytes: 100_000_000_000 });
  const dirs = [{ what: "the data directory", dir: "/" }];
  const disk_room = createDiskRoom({ clock, log, dirs, reserve_bytes: null, ask });
  await disk_room.look();
  Object.assign(ctx, { disk_room });
}
const SHORT = /^the disk of the data directory has .* free, less than the reserve of .*: free up/;

test("no video is begun while a disk is short, and one that is there is answered (rules/storage#disk-reserve)", async () => {
  const gate = join(newDir(), "gate");
  await start(`while [ ! -e ${gate} ]; do read -r _ < /dev/null; sleep 0.05; done; ${QUICK}`);
  const { path } = await rig.recordedJob(whole());
  await rig.ask(path);
  await until("the first is made", LONG_MS, async () => {
    const [one] = await rig.exportsOf(path);
    return one?.status === "running";
  });
  const { path: waits } = await rig.recordedJob(whole());
  await rig.ask(waits);
  await diskWith(1_000_000);
  const refused = await rig.ask(path, { format: "webm" });
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "10"]);
  expect(refused.body.detail).toMatch(SHORT);
  expect(await rig.exportsOf(path)).toHaveLength(1);
  writeFileSync(gate, "");
  expect(await rig.ended(path)).toMatchObject({ status: "done" });
  expect(await rig.ended(waits)).toMatchObject({
    status: "failed",
    error: expect.stringMatching(SHORT),
  });
  expect((await rig.ask(path)).status).toBe(202);
  await diskWith(10_000_000_000);
  expect((await rig.ask(waits)).status).toBe(202);
  expect(await rig.ended(waits)).toMatchObject({ status: "done" });
}, 60_000);

test("a repeated call with one key is one export", async () => {
  await start(QUICK);
  const { path } = await rig.recordedJob(whole());
  const key = { "Idempotency-Key": "export-once" };
  const [one, two] = [
    await rig.ask(path, { format: "mp4" }, key),
    await rig.ask(path, { format: "mp4" }, key),
  ];
  expect([one.status, two.status]).toEqual([202, 202]);
  expect(two.body).toEqual(one.body);
  expect((await rig.ask(path, { format: "webm" }, key)).status).toBe(409);
});

test("a recording without a picture has no video", async () => {
  await start(QUICK);
  const { path } = await rig.recordedJob(made().end(500).done().bytes);
  expect(await rig.ask(path)).toMatchObject({
    status: 409,
    body: { detail: expect.stringContaining("no picture") },
  });
});

test("a screen that cannot be drawn fails its export, and says where", async () => {
  await start(QUICK);
  const broken = made().chunk(400).plain(500, RED).screen(2_000, Uint8Array.of(99)).end(3_000);
  const { path, job } = await rig.recordedJob(broken.done().bytes);
  await rig.ask(path);
  expect(await rig.ended(path)).toMatchObject({
    status: "failed",
    error: expect.stringContaining("cannot be drawn after 0.5 s"),
  });
  expect(await rig.command([job.job_id])).toMatchObject({ code: 1 });
});

test("what was exported while its recording was deleted is not kept", async () => {
  const gate = join(newDir(), "gate");
  await start(`while [ ! -e ${gate} ]; do sleep 0.05; done; ${QUICK}`);
  const { path, run_id } = await rig.recordedJob(whole());
  await rig.ask(path);
  const { ctx } = rig.hub;
  expect(await ctx.objects.list(`recordings/${run_id}/exports`)).toHaveLength(1);
  await rig.hub.call("PATCH", "/settings", { recording_max_bytes: 1 });
  await retainRecordings(ctx);
  expect(await ctx.objects.list("recordings")).toEqual([]);
  writeFileSync(gate, "");
  await until("the export has ended", LONG_MS, async () => {
    return (await ctx.kv.get(`recording-export:${run_id}:mp4`)) === null;
  });
  expect(await ctx.objects.list("recordings")).toEqual([]);
  expect((await rig.ask(path)).status).toBe(404);
}, 60_000);

test("files of a hub that was killed are removed, and those of one that lives are not", async () => {
  await start(QUICK);
  const { config } = rig.hub.ctx;
  const exports = join(config.data_dir, "exports");
  const [dead, mine, living, other] = [
    ...[`${2 ** 22 + 1}-abc`, `${process.pid}-abc`, "1-abc", "notes"].map((name) =>
      join(exports, name),
    ),
  ] as [string, string, string, string];
  for (const dir of [dead, mine, living, other]) mkdirSync(dir, { recursive: true });
  await sweepExports(rig.hub.ctx);
  expect([dead, mine, living, other].map(existsSync)).toEqual([false, false, true, true]);
});

test("the doctor says whether a hub can make videos, and nothing is wrong where it cannot", () => {
  const dir = newDir();
  const deps = { env: {}, path: dir };
  expect(checkVideos(deps, null)).toMatchObject({
    status: "ok",
    found: expect.stringContaining("apt-get install ffmpeg"),
  });
  expect(checkVideos(deps, "/nowhere/ffmpeg").found).toContain("SVC_FFMPEG names /nowhere/ffmpeg");
  const program = fakeFfmpeg(dir, "exit 0");
  expect(checkVideos(deps, null).found).toContain(`exported with ${program}`);
});
