import { chmod, lchown, mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import type { BrowserUser } from "#shared/kit/browser-user.ts";
import { withDeadline } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import { CdpConnection, CdpError } from "../cdp/connection.ts";
import { pipeTransport } from "../cdp/transport.ts";
import type {
  BrowserExit,
  LaneArchive,
  LaneBrowser,
  LaneGate,
  RunDirs,
} from "../lanes/lane-browser.ts";
import { removeRunDirs } from "./dirs.ts";
import { browserFlags } from "./flags.ts";
import { endGroup } from "./kill.ts";
import { movePageClock } from "./page-clock.ts";
import { type ProcessExit, type Spawned, spawnTagged } from "./spawn.ts";

export interface LaunchOptions {
  program: string;
  headless: boolean;
  /** X display such as `:100`; null only when headless. */
  display: string | null;
  /** The X server's cookie, as a libXau file; null only when headless. */
  authority: Uint8Array | null;
  cdp_port: number;
  tag: string;
  dirs: RunDirs;
  sandbox: "on" | "off";
  small_shm: boolean;
  user: BrowserUser | null;
  environment: Record<string, string>;
  ignore_https_errors: boolean;
  /** PEM of those that `dirs` makes it trust besides its worker's. */
  certificate_authorities: string | null;
  /** Whether pages may tell that a program can steer it. */
  shows_automation: boolean;
  /** What answers it in place of the network, through its gate. */
  archive: LaneArchive | null;
  /** Its egress, which its owner opens and closes. */
  gate: LaneGate | null;
  /** Known from an earlier start of the same program; null means detect it. */
  capture: LaneBrowser["capture"] | null;
  signal: AbortSignal;
}

/** A running Chromium, with ways to get rid of it without asking. */
export interface StartedBrowser extends LaneBrowser {
  tag: string;
  /** Like `kill`, but without asking: for a browser whose state is discarded. */
  killNow(): Promise<void>;
  /**
   * Ends only the processes: its job may still be sending what is in the spool.
   * @param reason for whoever uses it, as {@link BrowserExit} has it
   */
  endProcesses(reason?: string): Promise<void>;
  /** Closes it as a person would and gives it 10 s to save its profile; `dirs` stay. */
  shutDown(): Promise<void>;
}

/** Chromium did not come up; `log_tail` holds its last words. */
export class BrowserStartError extends Error {
  readonly log_tail: string;
  constructor(reason: string, log_tail: string) {
    super(
      `Chromium did not start: ${reason}${log_tail === "" ? "" : `; it said: ${log_tail.slice(-600)}`}`,
    );
    this.name = "BrowserStartError";
    this.log_tail = log_tail;
  }
}

/** With a load of 45 on two cores it took more than 20 s; a browser that has died is reported at once. */
const START_MS = 60_000;
/** Cookies and storage are written at exit, which takes seconds with a large profile on a busy machine. */
const SHUT_DOWN_MS = 30_000;

/**
 * Starts a Chromium in its own session with `dirs` as its whole world, and waits for its pipe, its debugging port and its
 * first page. On failure nothing is left, `dirs` included.
 * @throws BrowserStartError
 */
export async function launchBrowser(options: LaunchOptions): Promise<StartedBrowser> {
  const spawned = await spawnBrowser(options);
  const connection = new CdpConnection(
    pipeTransport(
      spawned.child.stdio[3] as unknown as Writable, // a pipe, as asked for in spawnTagged
      spawned.child.stdio[4] as unknown as Readable,
    ),
  );
  const clock_offset_ms = options.archive?.clock_offset_ms ?? null;
  if (clock_offset_ms !== null) movePageClock(connection, clock_offset_ms);
  let ended_for: string | null = null;
  const exited = spawned.exited.then((exit): BrowserExit => ({ ...exit, ended_for }));
  let ended: Promise<void> | undefined;
  let removed: Promise<void> | undefined;
  const end = async (ask: boolean, ask_ms?: number) => {
    await endGroup(
      { pid: spawned.pid, tag: options.tag, exited: spawned.exited },
      { ask: ask ? () => connection.root.send("Browser.close") : null, ask_ms, term: ask },
    );
    connection.close();
  };
  const endOnce = (ask: boolean, ask_ms?: number) => (ended ??= end(ask, ask_ms));
  const kill = async (ask: boolean) => {
    await endOnce(ask);
    removed ??= removeRunDirs(options.dirs);
    await removed;
  };
  try {
    const facts = await untilReady(spawned, connection, options);
    return {
      ...facts,
      connection,
      pid: spawned.pid,
      cdp_port: options.cdp_port,
      tag: options.tag,
      headless: options.headless,
      sandbox: options.sandbox,
      gate: options.gate,
      archive: options.archive,
      ignore_https_errors: options.ignore_https_errors,
      certificate_authorities: options.certificate_authorities,
      dirs: options.dirs,
      exited,
      kill: () => kill(true),
      killNow: () => kill(false),
      endProcesses: (reason) => {
        ended_for ??= reason ?? null;
        return endOnce(false);
      },
      shutDown: () => endOnce(true, SHUT_DOWN_MS),
    };
  } catch (err) {
    // The pipe breaks before the exit is known, and the exit is more informative.
    const died = err instanceof CdpError && err.gone;
    await kill(false);
    const reason = died ? exitReason(await spawned.exited) : errorMessage(err);
    throw new BrowserStartError(reason, spawned.tail());
  }
}

async function spawnBrowser(options: LaunchOptions): Promise<Spawned> {
  const { dirs } = options;
  try {
    const authority = await placeAuthority(options);
    const stand_ins = await placeStandIns(dirs.root);
    return await spawnTagged({
      program: options.program,
      args: browserFlags({
        ...options,
        user_data: dirs.user_data,
        gate_port: options.gate?.port ?? null,
        trusted_key: options.archive?.key ?? null,
      }),
      environment: {
        ...options.environment,
        HOME: dirs.root,
        TMPDIR: dirs.tmp,
        XDG_CONFIG_HOME: dirs.tmp,
        XDG_CACHE_HOME: dirs.tmp,
        // Stops the search for a session bus, which may start one that outlives the browser.
        DBUS_SESSION_BUS_ADDRESS: "disabled:",
        PATH: `${stand_ins}:${options.environment.PATH ?? ""}`,
        ...(options.display === null ? {} : { DISPLAY: options.display }),
        ...(authority === null ? {} : { XAUTHORITY: authority }),
      },
      tag: options.tag,
      user: options.user,
      pipe: true,
      cwd: dirs.root,
    });
  } catch (err) {
    await removeRunDirs(dirs);
    throw new BrowserStartError(errorMessage(err), "");
  }
}

/**
 * Programs that Chromium on Linux starts for URLs it does not handle itself: at once for mailto:, after a question
 * for others.
 */
const STARTED_BY_CHROMIUM = [
  "xdg-open",
  "xdg-email",
  "xdg-settings",
  "xdg-mime",
  "xdg-desktop-menu",
  "xdg-icon-resource",
];

/**
 * Creates a directory for the front of PATH in which these programs do nothing, so that no page can start the
 * machine's own.
 */
async function placeStandIns(root: string): Promise<string> {
  const dir = join(root, "stand-ins");
  await rm(dir, { recursive: true, force: true });
  await mkdir(dir);
  await chmod(dir, 0o755);
  for (const name of STARTED_BY_CHROMIUM) await symlink("/bin/false", join(dir, name));
  return dir;
}

/** Writes it where only the browser's user can read it. */
async function placeAuthority({ authority, dirs, user }: LaunchOptions): Promise<string | null> {
  if (authority === null) return null;
  const path = join(dirs.root, "xauthority");
  await rm(path, { force: true });
  await writeFile(path, authority, { mode: 0o600, flag: "wx" });
  if (user !== null) await lchown(path, user.uid, user.gid);
  return path;
}

const exitReason = ({ code, signal }: ProcessExit): string => `it exited with ${signal ?? code}`;

async function untilReady(spawned: Spawned, connection: CdpConnection, options: LaunchOptions) {
  const stop = Promise.withResolvers<never>();
  const onAbort = () => stop.reject(new Error("the lane is closing"));
  options.signal.addEventListener("abort", onAbort, { once: true });
  if (options.signal.aborted) onAbort();
  void spawned.exited.then((exit) => stop.reject(new Error(exitReason(exit))));
  try {
    return await Promise.race([
      withDeadline("start of Chromium", START_MS, becomeReady(spawned, connection, options)),
      stop.promise,
    ]);
  } finally {
    options.signal.removeEventListener("abort", onAbort);
  }
}

async function becomeReady(spawned: Spawned, connection: CdpConnection, options: LaunchOptions) {
  const [version, page_id, cdp_url] = await Promise.all([
    connection.root.send("Browser.getVersion", undefined, { timeout_ms: START_MS }),
    firstPage(connection),
    portOpened(spawned, options.cdp_port),
  ]);
  return {
    product: version.product,
    cdp_url,
    user_agent: version.userAgent,
    capture: options.capture ?? (await detectCapture(connection, page_id)),
  };
}

/** Chromium moves on to ::1, or goes on without its debugging port, when another process has it. */
async function portOpened(spawned: Spawned, port: number): Promise<string> {
  const line = await spawned.line(/DevTools listening on|Cannot start http server for devtools/);
  const url = /ws:\/\/127\.0\.0\.1:\S+/.exec(line)?.[0];
  if (url === undefined) throw new Error(`port ${port} is taken (SVC_CDP_PORT_BASE)`);
  return url;
}

async function firstPage({ root }: CdpConnection): Promise<string> {
  const there = Promise.withResolvers<string>();
  const stop = root.on("Target.targetCreated", ({ targetInfo }) => {
    if (targetInfo.type === "page") there.resolve(targetInfo.targetId);
  });
  await root.send("Target.setDiscoverTargets", { discover: true }, { timeout_ms: START_MS });
  const target_id = await there.promise;
  stop();
  await root.send("Target.setDiscoverTargets", { discover: false });
  return target_id;
}

const NO_SUCH_METHOD = -32_601;

/** Durable messages are experimental and exist only on page sessions, so one is opened to find out. */
export async function detectCapture(
  connection: CdpConnection,
  target_id: string,
): Promise<LaneBrowser["capture"]> {
  const { root } = connection;
  const { sessionId } = await root.send("Target.attachToTarget", {
    targetId: target_id,
    flatten: true,
  });
  const session = connection.session(sessionId);
  try {
    await session?.send("Network.configureDurableMessages", {
      maxTotalBufferSize: 1,
      maxResourceBufferSize: 1,
    });
    return "durable";
  } catch (err) {
    if (err instanceof CdpError && err.code === NO_SUCH_METHOD) return "buffered";
    throw err;
  } finally {
    await root.send("Target.detachFromTarget", { sessionId });
  }
}
