import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { type Clock, DeadlineError, setDeadline } from "#shared/kit/clock.ts";
import { isAlive, readStat } from "#shared/kit/proc.ts";
import { RESOLUTION } from "#shared/protocol/limits.ts";
import { passwordFile } from "#shared/protocol/vnc-auth.ts";
import { endGroup } from "../process/kill.ts";
import { type ProcessExit, spawnTagged } from "../process/spawn.ts";
import { askDesktopSize } from "./desktop-size.ts";
import { keepWindows, type WindowKeeper } from "./window-keeper.ts";
import { authorityFile, newXCookie } from "./x-authority.ts";
import type { Size } from "./x11.ts";

export interface DisplayOptions {
  /** Path of Xvnc. */
  program: string;
  /** X display number. */
  number: number;
  vnc_port: number;
  /** Password of its VNC server, eight characters. */
  vnc_secret: string;
  tag: string;
  /** HOME and working directory. */
  dir: string;
  environment: Record<string, string>;
  clock: Clock;
  signal: AbortSignal;
}

/** A running Xvnc: X display and VNC server in one. */
export interface Display {
  /** e.g. `:100`. */
  name: string;
  /** The file that clients of its X server need, for `XAUTHORITY`: readable by the browser's user and nobody else. */
  authority: Uint8Array;
  pid: number;
  exited: Promise<ProcessExit>;
  /** Rejects unless the VNC server greets within 3 s. */
  greet(): Promise<void>;
  /**
   * Resizes the screen and the windows that fill it; resolves at once when it already has this size. @throws when the
   * VNC server has not done so within 3 s.
   */
  resize(size: Size): Promise<void>;
  /** Resolves when the browser's window fills the screen. Rejects when that takes longer than 15 s. */
  filled(): Promise<void>;
  /** TERM (1 s) → KILL; also removes lock and socket files that it may have left. Idempotent. */
  stop(): Promise<void>;
}

/** With a load of 45 on two cores 3 s were too little; a server that has died is reported at once. */
const GREETING_MS = 15_000;
/** Deadline for the X server's first answer, and for a change of its screen. */
const SCREEN_MS = 15_000;
/** The VNC server walks every possible descriptor at each connection, which takes minutes under a large limit. */
const OPEN_FILES = 4_096;

/**
 * Starts Xvnc on loopback with a password for its VNC server and a cookie for its X server, which only this worker
 * and the lane's browser know, because every user of this machine can reach the port and the socket. The blacklist is
 * off because it takes a probe for a failed login and would lock out every viewer.
 * @throws when the display or the port is taken, or when it does not greet in time.
 */
export async function startDisplay(options: DisplayOptions): Promise<Display> {
  const { number, vnc_port, clock } = options;
  clearStaleLock(number);
  // Otherwise the greeting could come from another owner of the port, while Xvnc is giving up.
  await checkPortFree(vnc_port);
  // It is read at each connection, so it stays as long as the server runs.
  const password_file = join(options.dir, `vnc-${number}`);
  writeSecret(password_file, passwordFile(options.vnc_secret));
  const cookie = newXCookie();
  const authority = authorityFile(number, cookie);
  const authority_file = join(options.dir, `xauthority-${number}`);
  writeSecret(authority_file, authority);
  const spawned = await spawnTagged({
    program: "/bin/sh",
    args: [
      "-c",
      `ulimit -Sn ${OPEN_FILES}; exec "$0" "$@"`,
      options.program,
      ...xvncArgs(number, { vnc_port, password_file, authority_file }),
    ],
    environment: { ...options.environment, HOME: options.dir },
    tag: options.tag,
    user: null,
    pipe: false,
    cwd: options.dir,
  });
  let stopped: Promise<void> | undefined;
  let keeper: WindowKeeper | null = null;
  const keeping = () => {
    if (!keeper) throw new Error("the display is starting");
    return keeper;
  };
  const stop = async () => {
    keeper?.close();
    await endGroup(
      { pid: spawned.pid, tag: options.tag, exited: spawned.exited },
      { ask: null, term: true },
    );
    removeFiles(number, spawned.pid);
    for (const path of [password_file, authority_file]) rmSync(path, { force: true });
  };
  const display: Display = {
    name: `:${number}`,
    authority,
    pid: spawned.pid,
    exited: spawned.exited,
    greet: () => readGreeting(vnc_port, GREETING_MS),
    resize: (size) => resizeScreen(keeping(), options, size),
    filled: () => keeping().whenFilled(SCREEN_MS),
    stop: () => (stopped ??= stop()),
  };
  let over: string | null = null;
  void spawned.exited.then(({ code, signal }) => {
    over = `it exited with ${signal ?? code}`;
  });
  const end = performance.now() + GREETING_MS;
  for (let wait = 5; ; wait = Math.min(wait * 2, 50)) {
    try {
      if (options.signal.aborted) throw new Error("the lane is closing");
      if (over === null) await readGreeting(vnc_port, Math.max(1, end - performance.now()));
      if (over === null) keeper = await keepWindows(number, cookie, SCREEN_MS);
      if (over === null) return display;
      throw new Error(over);
    } catch (err) {
      if (over === null && !options.signal.aborted && performance.now() < end) {
        await clock.sleep(wait, options.signal);
        continue;
      }
      await display.stop();
      throw new Error(
        `Xvnc ${display.name} did not start: ${over ?? err}; it said: ${spawned.tail().slice(-600)}`,
      );
    }
  }
}

async function resizeScreen(
  keeper: WindowKeeper,
  { vnc_port, vnc_secret }: DisplayOptions,
  size: Size,
): Promise<void> {
  const { width, height } = keeper.size();
  if (width === size.width && height === size.height) return;
  await askDesktopSize(vnc_port, vnc_secret, size, keeper.whenSized(size, SCREEN_MS));
}

/** Readable by this user alone; replaces whatever was there. */
function writeSecret(path: string, bytes: Uint8Array): void {
  rmSync(path, { force: true });
  writeFileSync(path, bytes, { mode: 0o600, flag: "wx" });
}

interface XvncFiles {
  vnc_port: number;
  password_file: string;
  authority_file: string;
}

const xvncArgs = (
  number: number,
  { vnc_port, password_file, authority_file }: XvncFiles,
): string[] => [
  `:${number}`,
  "-geometry",
  `${RESOLUTION.width}x${RESOLUTION.height}`,
  "-depth",
  "24",
  "-rfbport",
  String(vnc_port),
  "-localhost",
  "-SecurityTypes",
  "VncAuth",
  "-PasswordFile",
  password_file,
  "-auth",
  authority_file,
  "-BlacklistThreshold",
  "1000000",
  "-AlwaysShared",
  "-AcceptSetDesktopSize",
  // Viewers are shown this name; the default says which user on which host runs the server.
  "-desktop",
  "Flotilla",
  "-nolisten",
  "tcp",
];

/** Resolves when `RFB ` arrives; a server that accepts and stays silent is not healthy. */
export function readGreeting(port: number, ms: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: "127.0.0.1", port });
    const finish = (err?: Error) => {
      cancel();
      socket.destroy();
      if (err) reject(err);
      else resolve();
    };
    const cancel = setDeadline(ms, () => finish(new DeadlineError("VNC greeting", ms)));
    socket.once("data", (chunk: Buffer) =>
      finish(
        chunk.toString("latin1").startsWith("RFB ") ? undefined : new Error("not a VNC server"),
      ),
    );
    socket.once("error", (err) => finish(err));
    socket.once("close", () => finish(new Error("VNC connection closed without a greeting")));
  });
}

function checkPortFree(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", () => reject(new Error(`port ${port} is taken (SVC_VNC_PORT_BASE)`)));
    server.listen({ host: "127.0.0.1", port, exclusive: true }, () =>
      server.close(() => resolve()),
    );
  });
}

const lockPath = (number: number) => `/tmp/.X${number}-lock`;
const socketPath = (number: number) => `/tmp/.X11-unix/X${number}`;

function lockOwner(number: number): number | null {
  try {
    const pid = Number(readFileSync(lockPath(number), "utf8"));
    return Number.isInteger(pid) && pid > 0 ? pid : null;
  } catch {
    return null;
  }
}

/** Removes what a dead X server left. @throws when a live process has the display. */
function clearStaleLock(number: number): void {
  const owner = lockOwner(number);
  if (owner === null) return;
  const stat = readStat(owner);
  if (isAlive(stat))
    throw new Error(
      `display :${number} is in use by process ${owner} (${stat.comm}); see SVC_DISPLAY_BASE`,
    );
  removeFiles(number, owner);
}

/** Only while the lock still names `pid`: by now the display may be another server's. */
function removeFiles(number: number, pid: number): void {
  if (lockOwner(number) !== pid) return;
  rmSync(socketPath(number), { force: true });
  rmSync(lockPath(number), { force: true });
}
