import { join } from "node:path";
import { type BrowserUser, findBrowserUser } from "#shared/kit/browser-user.ts";
import type { Clock } from "#shared/kit/clock.ts";
import { ConfigError } from "#shared/kit/env.ts";
import type { Log } from "#shared/kit/log.ts";
import { RESOLUTION } from "#shared/protocol/limits.ts";
import type { Lane as LaneRecord } from "#shared/protocol/schema/worker.ts";
import { newVncSecret } from "#shared/protocol/vnc-auth.ts";
import type { WorkerConfig } from "#worker/config.ts";
import { createEgress, type Egress } from "#worker/egress/egress.ts";
import type { Gate } from "#worker/egress/gate.ts";
import { markPorts, type PortMarks, seesMarks } from "#worker/egress/port-marks.ts";
import { egressSettings, lanePorts } from "#worker/egress/settings.ts";
import { type Authorities, openAuthorities, trustInHome } from "../process/authorities.ts";
import { createRunDirs, giveTreeTo, isShmSmall, removeRunDirs } from "../process/dirs.ts";
import { BrowserStartError, launchBrowser, type StartedBrowser } from "../process/launch.ts";
import { findPrograms } from "../process/program.ts";
import { type Display, startDisplay } from "./display.ts";
import { Lane, type LaneHold, type Occupant } from "./lane.ts";
import type { LaneBrowser, RunDirs } from "./lane-browser.ts";
import { openScratch, type Scratch } from "./scratch.ts";
import type { UserData } from "./user-data.ts";
import type { Size } from "./x11.ts";

export type { LaneHold } from "./lane.ts";
export { DataDirInUseError } from "./scratch.ts";

export interface LanePoolDeps {
  config: WorkerConfig;
  log: Log;
  clock: Clock;
  /** The lanes' egress; by default the pool creates its own from the configuration. */
  egress?: Egress;
  /** Aborts a start that is under way and leaves nothing behind. */
  signal?: AbortSignal;
}

export interface LanePool {
  lanes(): LaneRecord[];
  /** Calls back at every change of a lane, in order; returns a function that stops it. */
  onChange(callback: (lane: LaneRecord) => void): () => void;
  /** e.g. `Chrome/156.0.8078.79`; `unknown` until a browser has started. */
  readonly product: string;
  readonly capture: LaneBrowser["capture"];
  /** Takes a lane for a job; null unless it is warm and free. */
  hold(lane_idx: number, occupant: Occupant): LaneHold | null;
  /**
   * Resizes the lane's screen until the lane is reset; null restores its own size. Does nothing on a headless lane.
   * @throws when the display does not do it within 3 s.
   */
  resizeScreen(lane_idx: number, size: Size | null): Promise<void>;
  /** Password of the lane's VNC server. It is sent only to the hub on the other end of the link. */
  vncSecret(lane_idx: number): string;
  /** Ends every process the pool has started and removes its directories. Idempotent. */
  close(): Promise<void>;
}

/** What the lanes of a worker share. */
interface Workshop {
  config: WorkerConfig;
  egress: Egress;
  log: Log;
  clock: Clock;
  scratch: Scratch;
  /** Keep the lanes of other workers on this machine from these lanes' ports. */
  marks: PortMarks;
  chromium: string;
  /** Null on headless lanes. */
  xvnc: string | null;
  user: BrowserUser | null;
  /** What browsers trust besides their own; null: nothing. */
  authorities: Authorities | null;
  small_shm: boolean;
  /** Chromium has said that it gets no sandbox on this machine. */
  has_no_sandbox: boolean;
  /** Learned from the first browser. */
  product: string | null;
  capture: LaneBrowser["capture"] | null;
  runs: number;
}

const NO_SANDBOX =
  "Chromium gets no sandbox on this machine; `flotilla doctor worker` says what keeps it from one. " +
  "To open pages without one anyway, set SVC_BROWSER_SANDBOX=off";

const PROXY_VARIABLE = /^(https?|all)_proxy$/i;

/** Two lanes that boot in the same instant slow each other down. */
const STAGGER_MS = 100;

/**
 * Sweeps what an earlier incarnation left, starts displays and browsers, and resolves when every lane is warm or
 * quarantined (rules/lanes#states-of-a-lane).
 * @throws MissingProgramError, DataDirInUseError, ConfigError
 */
export async function createLanePool(deps: LanePoolDeps): Promise<LanePool> {
  const shop = await openWorkshop(deps);
  const listeners = new Set<(lane: LaneRecord) => void>();
  const gates = await openGates(shop);
  const berths = gates.map((gate, lane_idx) => ({ lane_idx, gate, vnc_secret: newVncSecret() }));
  const lanes = berths.map((berth) =>
    createLane(shop, berth, (record) => {
      for (const listener of listeners) listener(record);
    }),
  );
  let closing: Promise<void> | undefined;
  const close = () => (closing ??= closeAll(lanes, gates, shop));
  const stop = () => void close().catch((err) => deps.log.error({ err }, "lanes not closed"));
  deps.signal?.addEventListener("abort", stop, { once: true });
  await Promise.all(
    lanes.map(async (lane, lane_idx) => {
      await deps.clock.sleep(lane_idx * STAGGER_MS * (1 + Math.random() / 2), deps.signal);
      await lane.boot();
    }),
  );
  deps.signal?.removeEventListener("abort", stop);
  if (deps.signal?.aborted) {
    await close();
    throw new Error("stopped while the lanes were starting");
  }
  if (shop.has_no_sandbox && lanes.every((lane) => lane.record().state !== "warm")) {
    await close();
    throw new ConfigError(NO_SANDBOX);
  }
  return {
    lanes: () => lanes.map((lane) => lane.record()),
    onChange: (callback) => {
      listeners.add(callback);
      return () => listeners.delete(callback);
    },
    get product() {
      return shop.product ?? "unknown";
    },
    get capture() {
      return shop.capture ?? "durable";
    },
    vncSecret: (lane_idx) => berths[lane_idx]?.vnc_secret ?? "",
    resizeScreen: async (lane_idx, size) => lanes[lane_idx]?.display()?.resize(size ?? RESOLUTION),
    hold: (lane_idx, occupant) => lanes[lane_idx]?.hold(occupant) ?? null,
    close,
  };
}

/** One per lane, for as long as the lane lives: its port identifies whose traffic it is. All ports are marked. */
async function openGates({ config, egress, scratch, marks }: Workshop): Promise<(Gate | null)[]> {
  const gates: (Gate | null)[] = [];
  try {
    while (gates.length < config.lanes.count) gates.push(egress.openLaneGate());
    marks.add(gates.flatMap((gate) => gate?.port ?? []));
    return gates;
  } catch (err) {
    closeGates(gates);
    await scratch.close().finally(marks.remove);
    throw err;
  }
}

function closeGates(gates: readonly (Gate | null)[]): void {
  for (const gate of gates) gate?.close();
}

/** Marks the ports of the lanes before the first of them is open. */
function markLanes(config: WorkerConfig, log: Log): PortMarks {
  if (!seesMarks())
    log.warn(
      {},
      "/proc/net/unix cannot be read: these lanes are not kept from the ports of other workers' lanes on this machine",
    );
  return markPorts(lanePorts(config));
}

async function closeAll(
  lanes: Lane[],
  gates: readonly (Gate | null)[],
  { scratch, marks }: Workshop,
): Promise<void> {
  const closed = await Promise.allSettled(lanes.map((lane) => lane.close()));
  closeGates(gates);
  await scratch.close().finally(marks.remove);
  for (const result of closed) if (result.status === "rejected") throw result.reason;
}

async function openWorkshop({ config, log, clock, egress }: LanePoolDeps): Promise<Workshop> {
  const path = config.browser.environment.PATH ?? "";
  const { chromium, xvnc } = findPrograms(config.browser.program, config.lanes.headless, path);
  const { sandbox } = config.browser;
  const user = findBrowserUser(config.browser.user, sandbox);
  if (Object.keys(config.browser.environment).some((name) => PROXY_VARIABLE.test(name)))
    log.warn(
      {},
      "lanes go out through the worker's own gate: http_proxy, https_proxy and all_proxy have no effect on them",
    );
  if (sandbox === "off")
    log.warn({}, "SVC_BROWSER_SANDBOX=off: nothing contains a page that breaks out of Chromium");
  const marks = markLanes(config, log);
  const scratch = await openScratch(config.data_dir, user, log, marks.fds).catch((err) => {
    marks.remove();
    throw err;
  });
  const authorities = await trusted(config, scratch).catch(async (err) => {
    await scratch.close().finally(marks.remove);
    throw err;
  });
  return {
    config,
    log,
    clock,
    chromium,
    xvnc,
    user,
    authorities,
    egress: egress ?? createEgress(egressSettings(config), { clock, log }),
    scratch,
    marks,
    small_shm: await isShmSmall(),
    has_no_sandbox: false,
    product: null,
    capture: null,
    runs: 0,
  };
}

/** @throws ConfigError */
const trusted = async (
  { browser: { authorities, environment } }: WorkerConfig,
  { dir }: Scratch,
): Promise<Authorities | null> =>
  authorities === null
    ? null
    : openAuthorities(authorities, join(dir, "authorities"), environment.PATH ?? "");

/** What a lane keeps while its browsers come and go. */
interface Berth {
  lane_idx: number;
  gate: Gate | null;
  vnc_secret: string;
}

function createLane(shop: Workshop, berth: Berth, onChange: (lane: LaneRecord) => void): Lane {
  const { lane_idx } = berth;
  const { config, clock } = shop;
  return new Lane({
    lane_idx,
    headless: config.lanes.headless,
    limits: config.lanes,
    clock,
    log: shop.log.child({ lane_idx }),
    sandbox: config.browser.sandbox,
    startBrowser: (headless, display, signal, user_data) =>
      startBrowser(shop, berth, { headless, display, signal, user_data }),
    startDisplay: (signal) => {
      if (shop.xvnc === null) throw new Error("a headless lane has no display");
      return startDisplay({
        program: shop.xvnc,
        number: config.lanes.display_base + lane_idx,
        vnc_port: config.lanes.vnc_port_base + lane_idx,
        vnc_secret: berth.vnc_secret,
        tag: `${shop.scratch.tag}${lane_idx}:display-${++shop.runs}`,
        dir: shop.scratch.dir,
        environment: config.browser.environment,
        clock,
        signal,
      });
    },
    onChange,
  });
}

async function startBrowser(
  shop: Workshop,
  { lane_idx, gate }: Berth,
  {
    headless,
    display,
    signal,
    user_data,
  }: {
    headless: boolean;
    display: Display | null;
    signal: AbortSignal;
    user_data: UserData;
  },
): Promise<StartedBrowser> {
  const { config, scratch } = shop;
  // Ends everything that the previous browser had open.
  const { archive = null, ignore_https_errors = false, certificate_authorities = null } = user_data;
  if (archive && !gate) throw new Error("a browser without a gate cannot show an archive");
  gate?.reset({
    same_user: user_data.dirs !== undefined,
    stand_in: archive?.stand_in ?? null,
  });
  const run = `${lane_idx}-${++shop.runs}`;
  const browser = await launchBrowser({
    program: shop.chromium,
    headless,
    display: display?.name ?? null,
    authority: display?.authority ?? null,
    cdp_port: config.lanes.cdp_port_base + lane_idx,
    tag: `${scratch.tag}${run}`,
    dirs: user_data.dirs ?? (await makeRunDirs(shop, run, user_data)),
    sandbox: config.browser.sandbox,
    small_shm: shop.small_shm,
    user: shop.user,
    environment: config.browser.environment,
    ignore_https_errors: ignore_https_errors || config.browser.ignore_certificate_errors,
    certificate_authorities,
    shows_automation: config.browser.shows_automation,
    archive,
    gate,
    capture: shop.capture,
    signal,
  }).catch((err) => {
    if (saysNoSandbox(err)) shop.has_no_sandbox = true;
    throw err;
  });
  await display?.filled().catch((err) => {
    shop.log.warn({ lane_idx, err }, "the browser does not fill its screen");
  });
  shop.product = browser.product;
  shop.capture = browser.capture;
  return browser;
}

async function makeRunDirs(
  shop: Workshop,
  run: string,
  { seed, certificate_authorities: own = null }: UserData,
): Promise<RunDirs> {
  const { authorities, user } = shop;
  const dirs = await createRunDirs(shop.scratch.runs, run, user);
  if (!seed && !authorities && own === null) return dirs;
  try {
    await seed?.(dirs.user_data);
    if (seed && user) await giveTreeTo(user, dirs.user_data);
    const home = dirs.root;
    await authorities?.giveTo(home);
    const { PATH } = shop.config.browser.environment;
    if (own !== null) await trustInHome(home, own, PATH ?? "");
    if ((authorities || own !== null) && user) await giveTreeTo(user, join(home, ".pki"));
    return dirs;
  } catch (err) {
    await removeRunDirs(dirs);
    throw err;
  }
}

/** Chromium's own words when the kernel or the container refuses it namespaces. */
const saysNoSandbox = (err: unknown): boolean =>
  err instanceof BrowserStartError &&
  /no usable sandbox|sandbox.*(fatal|abort)|move to new namespace|setuid_sandbox|zygote_host_impl_linux/i.test(
    err.log_tail,
  );
