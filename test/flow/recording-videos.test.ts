import { afterEach, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sealPart } from "#hub/fleet/recordings/append.ts";
import { claimExport } from "#hub/fleet/recordings/video/export-records.ts";
import { createClient } from "#shared/client/index.ts";
import type { RecordingExport } from "#shared/recording/record.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import {
  BLUE,
  colourAt,
  fakeFfmpeg,
  made,
  near,
  probe,
  RED,
  type VideoRig,
  videoRig,
  whole,
} from "#test/support/rigs/video-rig.ts";

/** Recordings as videos, judged by ffprobe and ffmpeg (rules/recordings#export-as-a-video). */

const LONG_MS = 60_000;

let rig: VideoRig;
let dir: string | null = null;
afterEach(async () => {
  await rig.close();
  if (dir !== null) rmSync(dir, { recursive: true, force: true });
  dir = null;
});
/** A program in the place of ffmpeg. */
const program = (text: string) => {
  dir = mkdtempSync(join(tmpdir(), "flotilla-ffmpeg-"));
  return fakeFfmpeg(dir, text);
};

async function start(bytes: Uint8Array, env: Record<string, string> = {}) {
  rig = await videoRig(env);
  return rig.recordedJob(bytes);
}

for (const [format, codec_name] of [
  ["mp4", "h264"],
  ["webm", "vp9"],
] as const)
  test(`a ${format} file has the recording's pictures at its moments`, async () => {
    const { path } = await start(whole());
    const asked = await rig.ask(path, { format });
    expect(asked).toMatchObject({ status: 202, body: { format, speed: 1, status: "queued" } });
    expect(await rig.ended(path, format)).toMatchObject({
      status: "done",
      progress: 1,
      error: null,
    });
    const file = await rig.video(path, format);
    const { duration, ...stream } = await probe(file);
    expect(stream).toMatchObject({ codec_name, width: 64, height: 48, pix_fmt: "yuv420p" });
    expect(Math.abs(duration - 6)).toBeLessThan(0.5);
    expect(await colourAt(file, 3.9)).toEqual(near(RED));
    expect(await colourAt(file, 4.1)).toEqual(near(BLUE));
    // The same again is the one that is there.
    expect((await rig.ask(path, { format })).body).toMatchObject({
      id: asked.body.id,
      status: "done",
    });
    const part = await fetch(`${rig.hub.url}${path}/video.${format}`, {
      headers: { Range: "bytes=4-11" },
    });
    expect([part.status, (await part.arrayBuffer()).byteLength]).toEqual([206, 8]);
  }, 60_000);

test("another speed replaces the video, and what was made goes with the job", async () => {
  const { path, job, run_id } = await start(whole());
  await rig.ask(path);
  const first = await rig.ended(path);
  const second = (await rig.ask(path, { format: "mp4", speed: 4 })).body;
  expect(second.id).not.toBe(first.id);
  expect(await rig.ended(path)).toMatchObject({ id: second.id, status: "done", speed: 4 });
  expect((await probe(await rig.video(path))).duration).toBeCloseTo(1.5, 1);
  const kept = await rig.hub.ctx.objects.list(`recordings/${run_id}/exports`);
  expect(kept).toEqual(
    [
      `recordings/${run_id}/exports/${second.id}.mp4`,
      `recordings/${run_id}/exports/mp4.json`,
    ].sort(),
  );
  expect(readdirSync(join(rig.hub.ctx.config.data_dir, "exports"))).toEqual([]);
  await rig.hub.call("POST", `/jobs/${job.job_id}/cancel`);
  expect((await rig.hub.call("DELETE", `/jobs/${job.job_id}`)).status).toBe(204);
  expect(await rig.hub.ctx.objects.list("recordings")).toEqual([]);
}, 60_000);

test("flotilla video asks for a video, waits for it and saves it", async () => {
  const { job } = await start(whole());
  const file = join(rig.newDir(), "saved.webm");
  const flags = { format: ["webm"], speed: ["2"], out: [file] };
  const saved = await rig.command([job.job_id], flags);
  expect(saved).toMatchObject({ code: 0, out: expect.stringContaining(file) });
  expect((await probe(file)).duration).toBeCloseTo(3, 1);
  // The same recording by its session, through the client.
  const { sessions, jobs } = createClient({ base_url: rig.hub.url });
  expect(await sessions.recordingExports(job.session_id)).toMatchObject([{ status: "done" }]);
  expect((await jobs.recordingVideo(job.job_id, "webm")).status).toBe(200);
  expect(await jobs.exportRecording(job.job_id, { format: "webm", speed: 2 })).toMatchObject({
    status: "done",
  });
  expect(await rig.command(["nobody"])).toMatchObject({
    code: 1,
    err: expect.stringContaining("not found"),
  });
  await expect(rig.command([job.job_id], { format: ["gif"] })).rejects.toThrow("mp4 or webm");
}, 60_000);

test("what cannot be made a video is refused in words", async () => {
  const { path } = await start(made().chunk(400).plain(500, RED).done().bytes);
  expect(await rig.ask(path)).toMatchObject({
    status: 409,
    body: { detail: expect.stringContaining("still grows") },
  });
  for (const body of [{ format: "gif" }, { format: "mp4", speed: 17 }])
    expect((await rig.ask(path, body)).status).toBe(422);
  expect((await rig.ask("/jobs/nobody/recording")).status).toBe(404);
  expect((await rig.ask("/sessions/nobody/recording")).status).toBe(404);
  expect(await rig.hub.call("GET", `${path}/video.mp4`)).toMatchObject({
    status: 404,
    body: { detail: expect.stringContaining("/recording/exports") },
  });
  expect(await rig.exportsOf(path)).toEqual([]);
});

test("a recording that was cut off is a video as far as it goes", async () => {
  const { path, run_id } = await start(
    made().chunk(400).plain(500, RED).chunk(3_000).plain(3_000, BLUE).done().bytes,
  );
  const part = rig.hub.ctx.recordings.by_run.get(run_id);
  if (!part) throw new Error("the recording is not open");
  await sealPart(rig.hub.ctx, part, "cut");
  await rig.ask(path);
  expect(await rig.ended(path)).toMatchObject({ status: "done" });
  const file = await rig.video(path);
  expect(Math.abs((await probe(file)).duration - 3)).toBeLessThan(0.5);
  expect(await colourAt(file, 2)).toEqual(near(RED));
}, 60_000);

test("a hub without ffmpeg says which package it is in", async () => {
  const { path } = await start(whole(), { SVC_FFMPEG: "/nowhere/ffmpeg" });
  expect(await rig.ask(path)).toMatchObject({
    status: 409,
    body: { detail: expect.stringContaining("install the package ffmpeg") },
  });
});

test("an ffmpeg that fails is told in its own words, and the video can be asked for again", async () => {
  const SVC_FFMPEG = program("echo 'Unknown encoder' >&2; exit 1");
  const { path } = await start(whole(), { SVC_FFMPEG });
  await rig.ask(path);
  const failed = await rig.ended(path);
  expect(failed).toMatchObject({
    status: "failed",
    error: expect.stringContaining("Unknown encoder"),
  });
  expect(await rig.hub.call("GET", `${path}/video.mp4`)).toMatchObject({
    status: 404,
    body: { detail: expect.stringContaining("Unknown encoder") },
  });
  expect((await rig.ask(path)).body).toMatchObject({ status: "queued" });
}, 60_000);

test("one that is under way is not made twice, and ends with its hub", async () => {
  const SVC_FFMPEG = program("echo $$ > pid.new; mv pid.new $0.pid; exec sleep 600");
  const pids = `${SVC_FFMPEG}.pid`;
  const { path, run_id } = await start(whole(), { SVC_FFMPEG });
  const first = (await rig.ask(path)).body;
  expect((await rig.ask(path)).body.id).toBe(first.id);
  expect((await rig.ask(path, { format: "mp4", speed: 2 })).status).toBe(409);
  await until("ffmpeg runs", LONG_MS, () => Bun.file(pids).exists());
  expect(await rig.hub.call("GET", `${path}/video.mp4`)).toMatchObject({
    status: 409,
    body: { status: "running", progress: 0 },
  });
  const pid = Number(await Bun.file(pids).text());
  const { objects } = rig.hub.ctx;
  await rig.hub.ctx.video_exports.stop();
  expect(() => process.kill(pid, 0)).toThrow();
  const stored = await objects.read(`recordings/${run_id}/exports/mp4.json`);
  expect(await new Response(stored).json()).toMatchObject({
    status: "failed",
    error: "the hub was stopped",
  });
}, 60_000);

test("an export of another hub is answered, and is failed once nobody renews it", async () => {
  const { path, run_id } = await start(whole());
  const other: RecordingExport = {
    id: "other",
    format: "mp4",
    speed: 1,
    status: "running",
    progress: 0.5,
    error: null,
    bytes: null,
    created_at: "2026-11-20T10:00:00.000Z",
  };
  const key = `recordings/${run_id}/exports/mp4.json`;
  await rig.hub.ctx.objects.put(key, Buffer.from(JSON.stringify(other)));
  expect(await claimExport(rig.hub.ctx, run_id, other)).toBe(true);
  expect((await rig.ask(path)).body).toEqual(other);
  expect(await claimExport(rig.hub.ctx, run_id, { ...other, id: "third" })).toBe(false);
  await rig.hub.ctx.kv.delete(`recording-export:${run_id}:mp4`);
  expect(await rig.exportsOf(path)).toMatchObject([
    { id: "other", status: "failed", error: expect.stringContaining("was stopped") },
  ]);
});
