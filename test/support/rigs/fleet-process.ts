import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Job } from "#shared/protocol/schema/job.ts";
import { scratchId } from "#worker/browser/lanes/scratch.ts";
import { freePort, lanePorts } from "../servers/ports.ts";
import { PROGRAM } from "./program.ts";

/** A hub and a worker as real processes of the program, restarted when they die like a supervisor would. */

/** A directory for the whole logs of every process, to look into after a failure. */
const KEEP_LOGS = process.env.FLOTILLA_TEST_LOGS;

export interface ManagedProcess {
  readonly name: string;
  readonly pid: number;
  readonly starts: number;
  /** False between a death and the next start. */
  readonly alive: boolean;
  /** Last lines of its log. */
  tail(): string;
  kill(signal: NodeJS.Signals): void;
  /** SIGTERM, no restart; the exit code (137 when it had to be killed after `deadline_ms`, by default a minute and a half). */
  stop(deadline_ms?: number): Promise<number>;
}

export interface SuperviseOptions {
  restart_ms?: number;
  /** Is given null at each start, then every line that the program logs. */
  onLine?: (line: string | null) => void;
}

/** Keeps `argv` running until `stop`. A death is followed by a new start after `restart_ms`. */
export function superviseProcess(
  name: string,
  argv: string[],
  env: Record<string, string>,
  { restart_ms = 300, onLine }: SuperviseOptions = {},
): ManagedProcess {
  let stopping = false;
  let starts = 0;
  let lines: string[] = [];
  let child = start();

  function start() {
    starts += 1;
    onLine?.(null);
    const proc = Bun.spawn(argv, {
      env: { ...process.env, ...env },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    });
    for (const stream of [proc.stdout, proc.stderr]) void keepTail(stream);
    void proc.exited.then(async () => {
      if (stopping) return;
      await Bun.sleep(restart_ms);
      if (!stopping) child = start();
    });
    return proc;
  }
  async function keepTail(stream: ReadableStream<Uint8Array>) {
    const decoder = new TextDecoder();
    let rest = "";
    for await (const chunk of stream) {
      const read = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = read.pop() ?? "";
      const whole = read.filter(Boolean);
      for (const line of whole) onLine?.(line);
      if (KEEP_LOGS && read.length > 0)
        appendFileSync(join(KEEP_LOGS, `${name}.log`), `${read.join("\n")}\n`);
      lines = [...lines, ...whole].slice(-200);
    }
  }
  return {
    name,
    get pid() {
      return child.pid;
    },
    get starts() {
      return starts;
    },
    get alive() {
      return child.exitCode === null && child.signalCode === null;
    },
    tail: () => lines.slice(-40).join("\n"),
    kill: (signal) => child.kill(signal),
    stop: async (deadline_ms = 90_000) => {
      stopping = true;
      child.kill("SIGTERM");
      const timer = setTimeout(() => child.kill("SIGKILL"), deadline_ms);
      const code = await child.exited;
      clearTimeout(timer);
      return code;
    },
  };
}

/** Polls `check` until it gives a value; rejects after `ms` naming `what`. */
export async function until<T>(
  what: string,
  ms: number,
  check: () => Promise<T | null | undefined | false> | T | null | undefined | false,
  every_ms = 50,
): Promise<T> {
  const end = Date.now() + ms;
  for (;;) {
    const value = await check();
    if (value) return value;
    if (Date.now() > end) throw new Error(`waited ${ms} ms in vain for ${what}`);
    await Bun.sleep(every_ms);
  }
}

export interface ProcessInfo {
  pid: number;
  ppid: number;
  state: string;
  command: string;
}

/**
 * Every process of the fleet in `dir`: those that name it in their environment or command line (Chromium writes its title
 * over its environment, but names its user-data directory), and all that descend from one.
 */
export function processesOf(dir: string): ProcessInfo[] {
  const all = new Map<number, ProcessInfo & { named: boolean }>();
  for (const entry of readdirSync("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    try {
      const stat = readFileSync(`/proc/${entry}/stat`, "latin1");
      const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      const command = readFileSync(`/proc/${entry}/cmdline`, "latin1").replaceAll("\0", " ");
      const environ = readFileSync(`/proc/${entry}/environ`, "latin1");
      const pid = Number(entry);
      const named = pid !== process.pid && (command.includes(dir) || environ.includes(dir));
      all.set(pid, { pid, ppid: Number(fields[1]), state: fields[0] ?? "?", command, named });
    } catch {
      // gone between the listing and the read
    }
  }
  const belongs = (pid: number): boolean => {
    const info = all.get(pid);
    return info !== undefined && pid > 1 && (info.named || belongs(info.ppid));
  };
  return [...all.values()].filter((p) => belongs(p.pid));
}

/** Zombie children of `pid`. */
export function zombiesOf(pid: number): number[] {
  const zombies: number[] = [];
  for (const entry of readdirSync("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    try {
      const stat = readFileSync(`/proc/${entry}/stat`, "latin1");
      const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      if (fields[0] === "Z" && Number(fields[1]) === pid) zombies.push(Number(entry));
    } catch {
      // gone meanwhile
    }
  }
  return zombies;
}

/** Resident set of one process in bytes. */
export function rssOf(pid: number): number {
  const match = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return Number(match?.[1] ?? 0) * 1024;
}

/** Open descriptors of one process. */
export function openFdsOf(pid: number): { sockets: number; others: number } {
  const targets = readdirSync(`/proc/${pid}/fd`).map((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`);
    } catch {
      return null; // closed between the listing and the look
    }
  });
  // What a thread of the runtime waits on: the one for HTTP clients begins with the first call out of the process.
  const isWaitedOn = (target: string) => /^anon_inode:\[event(poll|fd)\]$/.test(target);
  const open = targets.filter((target) => target !== null).filter((target) => !isWaitedOn(target));
  const sockets = open.filter((target) => target.startsWith("socket:")).length;
  return { sockets, others: open.length - sockets };
}

/** What the worker of the fleet in `dir` keeps on disk for its runs: below its data directory and, if it is deep, below tmpdir. */
export function runDirsOf(dir: string): string[] {
  const lanes = join(dir, "worker", "lanes");
  const runs = join(lanes, "runs");
  const id = scratchId(lanes);
  return [
    ...(existsSync(runs) ? readdirSync(runs) : []),
    ...readdirSync(tmpdir()).filter((name) => name.includes(id)),
  ];
}

export interface FleetProcesses {
  url: string;
  dir: string;
  /** First of each kind; lane i has this + i. */
  ports: { cdp: number; vnc: number; bridge: number };
  hub: ManagedProcess;
  worker: ManagedProcess;
  submit(url: string, options?: Record<string, unknown>): Promise<Job>;
  job(job_id: string): Promise<Job>;
  /** The job's record once it is terminal. */
  finished(job_id: string, ms?: number): Promise<Job>;
  /** Resolves when `lanes` lanes are warm and free. */
  lanesWarm(ms?: number): Promise<void>;
  /** Stops both and keeps the directory; the processes of the fleet that are left afterwards. */
  halt(): Promise<ProcessInfo[]>;
  /** `halt`, and the directory is removed. */
  stop(): Promise<ProcessInfo[]>;
}

export interface FleetOptions {
  lanes?: number;
  /** Command that starts the program; from source by default. */
  program?: string[];
  /** Of the worker, where it is another one. */
  worker_program?: string[];
  env?: Record<string, string>;
  /** More variables, which name the fleet's own directory. */
  inDirectory?: (dir: string) => Record<string, string>;
  headless?: boolean;
  /** The worker pulls tasks of the hub's pipeline too. */
  pipeline?: boolean;
  /** Where the worker dials the hub; its own port by default. */
  dialPort?: (hub_port: number) => Promise<number>;
  /** As `onLine` of its hub. */
  onHubLine?: SuperviseOptions["onLine"];
}

export async function startFleet(options: FleetOptions = {}): Promise<FleetProcesses> {
  const lanes = options.lanes ?? 2;
  const program = options.program ?? PROGRAM;
  const dir = mkdtempSync(join(tmpdir(), "flotilla-fleet-"));
  // The browsers of root's workers are another account's.
  chmodSync(dir, 0o711);
  const port = freePort();
  const dialled = (await options.dialPort?.(port)) ?? port;
  const lane_ports = lanePorts();
  const env = {
    FLOTILLA_TEST: dir,
    SVC_HOST: "127.0.0.1",
    SVC_LOG_LEVEL: "info",
    SVC_QUEUE_REDRIVE_INTERVAL_S: "1",
    SVC_QUEUE_REDRIVE_MIN_AGE_S: "2",
    ...(options.headless ? { SVC_HEADLESS_LANES: "1" } : {}),
    ...options.env,
    ...options.inDirectory?.(dir),
  };
  const url = `http://127.0.0.1:${port}`;
  const hub = superviseProcess(
    "hub",
    [...program, "hub"],
    { ...env, SVC_PORT: String(port), SVC_DATA_DIR: join(dir, "hub") },
    options.onHubLine && { onLine: options.onHubLine },
  );
  const worker = superviseProcess("worker", options.worker_program ?? [...program, "worker"], {
    ...env,
    HUB_URL: `ws://127.0.0.1:${dialled}`,
    ...(options.pipeline ? { SVC_CONTROL_URL: url } : {}),
    SVC_DATA_DIR: join(dir, "worker"),
    LANE_POOL: String(lanes),
    MAX_CONCURRENT: String(lanes),
    ...lane_ports,
  });

  const request = async (path: string, init?: RequestInit) => {
    const answer = await fetch(url + path, { ...init, signal: AbortSignal.timeout(60_000) });
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
  };
  const job = async (job_id: string) => (await request(`/jobs/${job_id}`)).body as unknown as Job;
  const fleet: FleetProcesses = {
    url,
    dir,
    ports: {
      cdp: Number(lane_ports.SVC_CDP_PORT_BASE),
      vnc: Number(lane_ports.SVC_VNC_PORT_BASE),
      bridge: Number(lane_ports.NOVNC_BASE_PORT),
    },
    hub,
    worker,
    job,
    submit: async (target, jobOptions = {}) => {
      const { status, body } = await request("/jobs", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ url: target, options: jobOptions }),
      });
      if (status === 503) return job(String(body.job_id));
      if (status !== 200) throw new Error(`POST /jobs: ${status} ${JSON.stringify(body)}`);
      return body as unknown as Job;
    },
    finished: (job_id, ms = 120_000) =>
      until(`the end of job ${job_id}`, ms, async () => {
        const record = await job(job_id).catch(() => null);
        return record && !["queued", "running"].includes(record.status) ? record : null;
      }).catch(async (err) => {
        const record = await job(job_id).catch(String);
        const workers = await request("/workers").catch(String);
        throw new Error(
          `${err.message}\njob: ${JSON.stringify(record)}\nworkers: ${JSON.stringify(workers)}\n` +
            `worker log:\n${worker.tail()}\nhub log:\n${hub.tail()}`,
        );
      }),
    lanesWarm: async (ms = 120_000) => {
      await until(`${lanes} warm lanes`, ms, async () => {
        const { body } = await request("/workers").catch(() => ({ body: { workers: [] } }));
        const workers = body.workers as {
          alive: boolean;
          in_flight: number;
          lanes: { state: string }[];
        }[];
        const alive = workers.filter((w) => w.alive);
        const warm = alive.flatMap((w) => w.lanes).filter((l) => l.state === "warm").length;
        return warm === lanes && alive.every((w) => w.in_flight === 0);
      }).catch((err) => {
        throw new Error(`${err.message}\nworker log:\n${worker.tail()}\nhub log:\n${hub.tail()}`);
      });
    },
    halt: async () => {
      await worker.stop();
      await hub.stop();
      return processesOf(dir).filter((p) => p.state !== "Z");
    },
    stop: async () => {
      const left = await fleet.halt();
      rmSync(dir, { recursive: true, force: true });
      return left;
    },
  };
  return fleet;
}
