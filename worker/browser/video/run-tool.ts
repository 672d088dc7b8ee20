import { spawn } from "node:child_process";
import { statSync } from "node:fs";
import type { LaneBrowser } from "../lanes/lane-browser.ts";
import { endGroup } from "../process/kill.ts";
import { LANE_TAG, tagOf } from "../process/tagged.ts";
import { VideoError } from "./video-settings.ts";

export interface ToolRun {
  program: string;
  args: string[];
  /** PATH of the program. */
  path: string;
  /** Working directory, HOME and TMPDIR: the only place the program writes to. */
  dir: string;
  /** The only way out to the network. */
  proxy: string;
  browser: LaneBrowser;
  signal: AbortSignal;
  /** Each line of standard output. */
  onLine(line: string): void;
}

const TAIL_CHARS = 2_000;

/**
 * Runs a program to its end in its own session, with only PATH from the worker's environment. When `signal`
 * aborts, or the run fails, everything it started is gone before this returns. It carries its lane's tag: the lane's reset
 * ends it too, whatever becomes of this process, and the lane's memory limit counts it.
 * @throws the signal's reason; VideoError with its last words when it fails.
 */
export async function runTool(run: ToolRun): Promise<void> {
  const { signal, browser, dir, proxy } = run;
  signal.throwIfAborted();
  const owner = ownerOf(browser);
  const child = spawn(run.program, run.args, {
    detached: true,
    cwd: dir,
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      PATH: run.path,
      HOME: dir,
      TMPDIR: dir,
      LC_ALL: "C.UTF-8",
      http_proxy: proxy,
      https_proxy: proxy,
      [LANE_TAG]: tagOf(browser.pid) ?? "",
    },
    ...(owner ? { uid: owner.uid, gid: owner.gid } : {}),
  });
  const exited = new Promise<number | null>((resolve, reject) => {
    child.once("close", (code) => resolve(code));
    child.once("error", reject);
  });
  exited.catch(() => {});
  let tail = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    tail = (tail + text).slice(-TAIL_CHARS);
  });
  readLines(child.stdout, run.onLine);
  const stopped = Promise.withResolvers<never>();
  stopped.promise.catch(() => {});
  const stop = () => stopped.reject(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  try {
    const code = await Promise.race([exited, stopped.promise]);
    if (code !== 0) throw new VideoError(lastWords(tail) || `it ended with code ${code}`);
  } finally {
    signal.removeEventListener("abort", stop);
    // Its child processes are ended with it; the tag is not used, because the browser carries it too.
    if (child.pid !== undefined)
      await endGroup({ pid: child.pid, tag: "\0", exited }, { ask: null, term: false });
  }
}

/** The account that Chromium runs as: a program that reads untrusted files must not be root unless Chromium is. */
export function ownerOf({ dirs }: LaneBrowser): { uid: number; gid: number } | null {
  if (process.getuid?.() !== 0) return null;
  const { uid, gid } = statSync(dirs.user_data, { throwIfNoEntry: false }) ?? { uid: 0, gid: 0 };
  return uid === 0 ? null : { uid, gid };
}

function readLines(stream: NodeJS.ReadableStream, onLine: (line: string) => void): void {
  let rest = "";
  stream.setEncoding("utf8");
  stream.on("data", (text: string) => {
    const lines = (rest + text).split(/[\r\n]+/);
    rest = (lines.pop() ?? "").slice(-TAIL_CHARS);
    for (const line of lines) onLine(line);
  });
}

/** The last meaningful line, without colours, headers, and URLs with passwords. */
function lastWords(text: string): string {
  const lines = text
    .split(/[\r\n]+/)
    .map((line) => Bun.stripANSI(line).trim())
    .filter((line) => line !== "");
  const told = lines.findLast((line) => /error|forbidden|refused|denied|invalid/i.test(line));
  return (told ?? lines.at(-1) ?? "").slice(0, 400);
}
