import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { chownSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { withDeadline } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import { markPorts } from "#worker/egress/port-marks.ts";
import type { LaneBrowser } from "../lanes/lane-browser.ts";
import { endGroup } from "../process/kill.ts";
import { LANE_TAG, tagOf } from "../process/tagged.ts";
import { ownerOf } from "../video/run-tool.ts";

/** A running chromedriver. */
export interface Driver {
  /** `http://127.0.0.1:<port>/<secret>`: what its commands' paths follow. */
  readonly base: string;
  /** Resolves once, with the words of a sentence, when the process is gone. */
  readonly ended: Promise<string>;
  /** Kills it with everything that it started. Idempotent. */
  end(): Promise<void>;
}

export interface DriverOptions {
  program: string;
  /** PATH of the program. */
  path: string;
  /** Its lane's: chromedriver runs as the browser's user, and whatever ends the lane ends it too. */
  browser: LaneBrowser;
  signal: AbortSignal;
  log: Log;
}

const START_MS = 20_000;
/** It chooses a port in one family of addresses, and exits when another program has the same one in the other. */
const PORT_TAKEN = /exit code 1\b/;
const TRIES = 5;
const STARTED = /started successfully on port (\d+)/;
/** What it says may quote pages. */
const MAX_LINE = 500;

/**
 * Starts a chromedriver for one session on a port of loopback that it chooses, and that is closed to the lanes of this
 * machine as soon as it is known. Its paths begin with a secret, so what can make this machine send a request, but cannot
 * read its list of processes, cannot steer it. It carries its lane's tag: the lane's reset ends it, whatever becomes of
 * this process, and the lane's memory limit counts it.
 * @throws Error with a sentence when it does not listen in time
 */
export async function startDriver(options: DriverOptions): Promise<Driver> {
  for (let left = TRIES - 1; ; left -= 1)
    try {
      return await startOnce(options);
    } catch (err) {
      if (left === 0 || !PORT_TAKEN.test(errorMessage(err))) throw err;
      options.log.debug({ err: errorMessage(err) }, "chromedriver is started again");
    }
}

async function startOnce(options: DriverOptions): Promise<Driver> {
  const { browser, signal, log } = options;
  signal.throwIfAborted();
  const secret = randomBytes(16).toString("hex");
  const child = spawnDriver(options, secret);
  const exited = once(child, "exit").then(
    ([code, by]) => `chromedriver ended (${by ?? `exit code ${code}`})`,
    (err) => `chromedriver could not be started: ${errorMessage(err)}`,
  );
  const listening = hear(child, log);
  let ending: Promise<void> | undefined;
  const end = async () => {
    // The tag is not used, because the browser carries it too.
    if (child.pid !== undefined)
      await endGroup({ pid: child.pid, tag: "\0", exited }, { ask: null, term: false });
  };
  const endOnce = () => (ending ??= end());
  const stopped = new Promise<never>((_, reject) => {
    void exited.then((why) => reject(new Error(why)));
    signal.addEventListener("abort", () => reject(signal.reason), {
      once: true,
    });
  });
  stopped.catch(() => {});
  try {
    const started = Promise.race([listening, stopped]);
    const port = await withDeadline("start of chromedriver", START_MS, started);
    const marks = markPorts([port]);
    void exited.then(marks.remove);
    log.debug({ port, pid: child.pid, lane_pid: browser.pid }, "chromedriver started");
    return { base: `http://127.0.0.1:${port}/${secret}`, ended: exited, end: endOnce };
  } catch (err) {
    await endOnce();
    throw err;
  }
}

function spawnDriver({ program, path, browser }: DriverOptions, secret: string): ChildProcess {
  const owner = ownerOf(browser);
  const dir = join(browser.dirs.root, "webdriver");
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  if (owner) chownSync(dir, owner.uid, owner.gid);
  return spawn(program, ["--port=0", `--url-base=/${secret}`], {
    // The leader of its own group, which is killed as a whole.
    detached: true,
    cwd: dir,
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      PATH: path,
      HOME: dir,
      TMPDIR: dir,
      LC_ALL: "C.UTF-8",
      [LANE_TAG]: tagOf(browser.pid) ?? "",
    },
    ...(owner ? { uid: owner.uid, gid: owner.gid } : {}),
  });
}

/** Logs what it says. @returns the port on which it listens, once it says so; never without. */
function hear({ stdout, stderr }: ChildProcess, log: Log): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  for (const input of [stdout, stderr]) {
    if (input === null) continue;
    input.on("error", () => {});
    createInterface({ input }).on("line", (line) => {
      const port = STARTED.exec(line)?.[1];
      if (port !== undefined && input === stdout) resolve(Number(port));
      if (line !== "") log.debug({ line: line.slice(0, MAX_LINE) }, "chromedriver says");
    });
  }
  return promise;
}
