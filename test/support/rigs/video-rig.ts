import { expect } from "bun:test";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runClientCommand } from "#hub/program/cli/run-command.ts";
import type { EnvSource } from "#shared/kit/env.ts";
import type { RecordingExport } from "#shared/recording/record.ts";
import { until } from "./fleet-process.ts";
import { startTestHub, TARGET, type TestHub } from "./hub.ts";
import { type Colour, makeRecording } from "./made-recording.ts";

/** A hub with recordings that were made by hand, and the videos that it makes of them. */

export const RED: Colour = [200, 30, 30];
export const BLUE: Colour = [30, 60, 220];
const LONG_MS = 60_000;

export const made = (width = 64, height = 48) =>
  makeRecording(width, height).event(0, {
    type: "start",
    at: "2026-11-20T10:00:00.000Z",
    of: "job",
    id: "x",
    mode: "screen",
    screen: "headful",
  });
/** Red from 0.5 s, blue from 4 s, to 6 s. */
export const whole = () =>
  made().chunk(400).plain(500, RED).chunk(4_000).plain(4_000, BLUE).end(6_000).done().bytes;

const run = async (...argv: string[]) =>
  Buffer.from(await new Response(Bun.spawn(argv, { stderr: "inherit" }).stdout).arrayBuffer());

/** What ffprobe says about a file. */
export async function probe(file: string) {
  const shown = "format=duration:stream=codec_name,width,height,pix_fmt";
  const text = await run("ffprobe", "-v", "error", "-show_entries", shown, "-of", "json", file);
  const { streams, format } = JSON.parse(text.toString());
  return { ...streams[0], duration: Number(format.duration) };
}

/** The colour in the middle of the picture at a moment: a frame lasts until the next one comes, as in a player. */
export async function colourAt(file: string, seconds: number): Promise<number[]> {
  const filters = `fps=10,trim=start=${seconds},format=rgb24,crop=1:1`;
  const pixel = ["-vf", filters, "-frames:v", "1", "-f", "rawvideo", "-"];
  return [...(await run("ffmpeg", "-v", "error", "-i", file, ...pixel))];
}
export const near = (colour: Colour) => colour.map((n) => expect.closeTo(n, -1.3));

export type VideoRig = Awaited<ReturnType<typeof videoRig>>;

/** A hub, its worker, and directories that go with them. */
export async function videoRig(env: EnvSource = {}) {
  const hub: TestHub = await startTestHub({ env });
  const worker = await hub.worker({ lanes: 3 });
  const dirs: string[] = [];
  const newDir = () => {
    const dir = mkdtempSync(join(tmpdir(), "flotilla-videos-"));
    dirs.push(dir);
    return dir;
  };
  const send = async (path: string, lease_token: number, bytes: Uint8Array) => {
    const { upload_token } = await worker.registered;
    const url = `${hub.url}/workers/${worker.worker_id}/${path}/recording?offset=0`;
    const headers = {
      Authorization: `Bearer ${upload_token}`,
      "X-Lease-Token": String(lease_token),
    };
    expect((await fetch(url, { method: "PUT", body: bytes.slice(), headers })).status).toBe(200);
  };
  const exportsOf = async (path: string): Promise<RecordingExport[]> =>
    (await hub.call("GET", `${path}/exports`)).body.items;
  return {
    hub,
    newDir,
    exportsOf,
    /** A job with this recording. */
    recordedJob: async (bytes: Uint8Array) => {
      const { job_id } = (await hub.call("POST", "/jobs", { url: TARGET })).body;
      const job = await worker.assigned.next((each) => each.job_id === job_id);
      await send(`jobs/${job_id}`, job.lease_token, bytes);
      const [row] = await hub.ctx.db.recordings.ofJob(job_id);
      return { job, path: `/jobs/${job_id}/recording`, run_id: row?.run_id ?? "" };
    },
    /** A session with this recording. */
    recordedSession: async (bytes: Uint8Array) => {
      const { session_id } = (await hub.call("POST", "/sessions", { url: TARGET })).body;
      const session = await worker.opening.next((each) => each.session_id === session_id);
      await send(`sessions/${session_id}`, session.lease_token, bytes);
      return { session_id, path: `/sessions/${session_id}/recording` };
    },
    ask: (path: string, body: unknown = { format: "mp4" }, headers = {}) =>
      hub.call("POST", `${path}/exports`, body, { headers }),
    ended: (path: string, format = "mp4") =>
      until(`the end of the ${format}`, LONG_MS, async () => {
        const one = (await exportsOf(path)).find((each) => each.format === format);
        return one?.status === "done" || one?.status === "failed" ? one : null;
      }),
    /** The video as a file. */
    video: async (path: string, format = "mp4"): Promise<string> => {
      const response = await fetch(`${hub.url}${path}/video.${format}`);
      expect(response.headers.get("content-type")).toBe(`video/${format}`);
      const file = join(newDir(), `video.${format}`);
      await Bun.write(file, response);
      return file;
    },
    /** `flotilla video`. */
    command: async (words: string[], flags: Record<string, string[]> = {}) => {
      let [out, err] = ["", ""];
      const terminal = {
        width: null,
        live: false,
        liveWidth: 80,
        out: (text: string) => {
          out += text;
        },
        err: (text: string) => {
          err += text;
        },
      };
      const given = { ...flags, hub: [hub.url] };
      const { signal } = new AbortController();
      const code = await runClientCommand("video", words, given, {}, terminal, signal);
      return { code, out, err };
    },
    close: async () => {
      await hub.close();
      for (const dir of dirs) rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** A program in the place of ffmpeg; the directory is the caller's. */
export function fakeFfmpeg(dir: string, text: string): string {
  const path = join(dir, "ffmpeg");
  writeFileSync(path, `#!/bin/sh\n${text}\n`);
  chmodSync(path, 0o755);
  return path;
}
