import { spawn } from "node:child_process";
import { once } from "node:events";
import { stat } from "node:fs/promises";
import { dirname } from "node:path";
import { withDeadline } from "#shared/kit/clock.ts";
import type { VideoFormat } from "#shared/recording/record.ts";
import { matroskaHead, pictureHead } from "./matroska.ts";
import type { VideoFrame } from "./video-frames.ts";

/** The video cannot be made. */
class EncodeError extends Error {
  override name = "EncodeError";
}

export interface EncodeRun {
  /** The path of ffmpeg. */
  program: string;
  format: VideoFormat;
  size: { width: number; height: number };
  frames: AsyncIterable<VideoFrame>;
  /** Where the video goes; in a directory of its own, because nothing else is written to. */
  file: string;
  signal: AbortSignal;
  onFrame(frame: VideoFrame): void;
}

/** One frame must be drawn and taken within this time, however busy the machine is. */
const FRAME_MS = 60_000;
/** What ffmpeg has for what it holds back, and for putting the index of an MP4 to its front. */
const END_MS = 300_000;
/** No recording that a worker may make comes near. */
const MAX_VIDEO_BYTES = 4 * 1024 * 1024 * 1024;
const LOOK_FRAMES = 50;
const TAIL_CHARS = 2_000;

/** Text on a screen stays sharp, and one picture costs little. */
const CODEC: Record<VideoFormat, readonly string[]> = {
  mp4: [
    ...["-c:v", "libx264", "-preset", "veryfast", "-crf", "24", "-g", "50", "-threads", "2"],
    ...["-movflags", "+faststart", "-f", "mp4"],
  ],
  webm: [
    ...["-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-row-mt", "1"],
    ...["-crf", "34", "-b:v", "0", "-g", "50", "-threads", "2", "-f", "webm"],
  ],
};
const COLOURS = [
  ...["-vf", "scale=out_color_matrix=bt709:out_range=tv,format=yuv420p"],
  ...["-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "bt709"],
  ...["-color_range", "tv"],
  // Frames are where they were drawn, and none is made up between them.
  ...["-fps_mode", "vfr"],
];

const argumentsOf = ({ format, file }: EncodeRun): string[] => [
  ...["-hide_banner", "-loglevel", "error", "-nostdin", "-y", "-protocol_whitelist", "pipe,file"],
  // What a picture is, is known from the head; nothing is looked at in advance.
  ...["-probesize", "32", "-analyzeduration", "0", "-f", "matroska", "-i", "pipe:0", "-an"],
  ...COLOURS,
  ...CODEC[format],
  file,
];

/**
 * Runs ffmpeg with low priority, and gives it the frames. When this returns or throws, the process has ended.
 * @throws EncodeError with what ffmpeg said; what `frames` throws; the signal's reason
 */
export async function encodeVideo(run: EncodeRun): Promise<void> {
  const { signal } = run;
  signal.throwIfAborted();
  const nice = Bun.which("nice");
  const low = nice === null ? [] : [nice, "-n", "10"];
  const [program, ...args] = [...low, run.program, ...argumentsOf(run)] as [string, ...string[]];
  const child = spawn(program, args, {
    cwd: dirname(run.file),
    // Nothing of the hub's own environment.
    env: { LC_ALL: "C" },
    stdio: ["pipe", "ignore", "pipe"],
  });
  let tail = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    tail = (tail + text).slice(-TAIL_CHARS);
  });
  // A program that ends early says why on its standard error, not by how its pipe breaks.
  child.stdin.on("error", () => {});
  const exited = once(child, "close").then(([code]) => code as number | null);
  const ended = exited.then((code) => {
    throw new EncodeError(`ffmpeg ended with ${code}: ${lastLine(tail)}`);
  });
  ended.catch(() => {});
  const stopped = Promise.withResolvers<never>();
  stopped.promise.catch(() => {});
  const stop = () => stopped.reject(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  try {
    await giveFrames(run, (what, step) =>
      withDeadline(what, FRAME_MS, Promise.race([step(child.stdin), ended, stopped.promise])),
    );
    child.stdin.end();
    const code = await withDeadline("ffmpeg", END_MS, Promise.race([exited, stopped.promise]));
    if (code !== 0) throw new EncodeError(`ffmpeg ended with ${code}: ${lastLine(tail)}`);
  } finally {
    signal.removeEventListener("abort", stop);
    child.kill("SIGKILL");
    await exited.catch(() => {});
  }
}

type Step = <T>(what: string, step: (to: NodeJS.WritableStream) => Promise<T>) => Promise<T>;

/** The program's pipe makes the drawing wait, so that one picture is held at a time. */
async function giveFrames(run: EncodeRun, inTime: Step): Promise<void> {
  const { size, frames, file, onFrame } = run;
  const write = (bytes: Uint8Array) =>
    inTime("ffmpeg", (to) => {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      to.write(bytes, (err) => (err ? reject(err) : resolve()));
      // A pipe that breaks is told by the end of the program.
      return promise.catch(() => new Promise<void>(() => {}));
    });
  await write(matroskaHead(size.width, size.height));
  const each = frames[Symbol.asyncIterator]();
  try {
    for (let count = 1; ; count += 1) {
      const { done, value } = await inTime("a frame of the video", () => each.next());
      if (done) return;
      await write(pictureHead(value.ms, value.pixels.length));
      await write(value.pixels);
      onFrame(value);
      if (count % LOOK_FRAMES === 0) await demandSize(file);
    }
  } finally {
    // It is not waited for: what it reads may be what hangs.
    void each.return?.().catch(() => {});
  }
}

async function demandSize(file: string): Promise<void> {
  const { size } = await stat(file).catch(() => ({ size: 0 }));
  if (size > MAX_VIDEO_BYTES) throw new EncodeError("the video becomes too large");
}

const lastLine = (text: string): string =>
  text.trim().split("\n").at(-1)?.slice(0, 400) || "it said nothing";
