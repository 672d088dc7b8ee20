import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadHubConfig } from "#hub/platform/config.ts";
import type { ProgramContext } from "#hub/program/context.ts";
import { systemClock } from "#shared/kit/clock.ts";
import type { EnvSource } from "#shared/kit/env.ts";
import { createLog } from "#shared/kit/log.ts";
import { workerSecret } from "#shared/kit/secret.ts";
import {
  connectFakeWorker,
  type FakeWorker,
  type FakeWorkerOptions,
} from "../fakes/fake-worker.ts";
import { createSignals, type Signals } from "../models/signals.ts";
import { writeMigratedFile } from "../servers/migrated-file.ts";
import { objectsEnv } from "../servers/s3.ts";
import { until } from "./fleet-process.ts";
import type { TestHubOptions } from "./hub-options.ts";
import { FLEET_WAIT_MS, fleetOfHubs, type HubSetMaker, isFleetMode, singleHub } from "./hub-set.ts";
import { commonKeyFile } from "./key-file.ts";

/** How long POST /jobs waits here; no loop of the hub sleeps so long, so a test can tell by it who sleeps. */
export const SUBMIT_WAIT_MS = 47;
/** Messages between hubs take milliseconds; what was lost is looked for every 5 s. */
const SPREAD_MS = 60_000;
/** Just below what a test may take, so that a call without an answer is named. */
const CALL_MS = 85_000;

/** A served hub with a data directory of its own, on a free port. */
export interface TestHub {
  url: string;
  ctx: ProgramContext;
  /** Holds the data directory and nothing else. */
  root: string;
  data_dir: string;
  signals: Signals;
  /** Log lines, parsed. */
  log: Record<string, unknown>[];
  call(method: string, path: string, body?: unknown, init?: RequestInit): Promise<Answer>;
  /**
   * Resolves when it holds at every hub: what one hub was told another knows a message later, and the next call may reach
   * that one.
   */
  everywhere(holds: (ctx: ProgramContext) => boolean): Promise<void>;
  /** A registered fake worker; closed with the hub. */
  worker(options?: FakeWorkerOptions): Promise<FakeWorker>;
  /** The same without waiting for its registration. */
  dial(options?: FakeWorkerOptions): FakeWorker;
  stop(): Promise<void>;
  /** Starts again on the same data; the fake workers are gone. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  body: any;
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** Of a worker that knows the token and nothing more. */
function ofToken({ WORKER_SECRET, SVC_API_TOKEN }: EnvSource): { secret?: string } {
  const secret = WORKER_SECRET === undefined ? workerSecret(undefined, SVC_API_TOKEN) : null;
  return secret === null ? {} : { secret };
}

/** Short waits unless the test asks for others; a plain worker of one lane is one `hub.worker()` away. */
export async function startTestHub(options: TestHubOptions = {}): Promise<TestHub> {
  const root = await mkdtemp(join(tmpdir(), "flotilla-hub-"));
  const data_dir = join(root, "data");
  const mode = options.mode ?? "hub";
  const fleet = isFleetMode(options);
  const env = {
    SVC_PORT: "0",
    SVC_HOST: "127.0.0.1",
    SVC_DATA_DIR: data_dir,
    // A test that stops its hub in the middle of something does not wait for it.
    SVC_DRAIN_TIMEOUT_S: "0",
    // Three hubs have to tell each other; a test with a clock of its own decides itself when the wait is over.
    SVC_SUBMIT_WAIT_S: String((fleet && !options.clock ? FLEET_WAIT_MS : SUBMIT_WAIT_MS) / 1_000),
    ...(await objectsEnv()),
    ...(options.env?.SVC_DB_URL && { SVC_SECRET_KEY_FILE: commonKeyFile() }),
    ...options.env,
  };
  const signals = createSignals();
  const log: Record<string, unknown>[] = [];
  const workers: FakeWorker[] = [];
  let maker: HubSetMaker | undefined;
  const start = async () => {
    maker ??= fleet ? await fleetOfHubs(env, mode) : singleHub(loadHubConfig(env, {}, mode));
    return maker.start({
      log: createLog("debug", (line) => log.push(JSON.parse(line))),
      clock: options.clock ?? systemClock,
      version: options.version ?? "test",
      random: options.random ?? Math.random,
      signal: signals.emit,
      ...(options.shared && { shared: options.shared }),
      ...(options.script_tools && { script_tools: options.script_tools }),
      ...(options.onContext && { onContext: options.onContext }),
    });
  };
  const removeRoot = async () => {
    await maker?.close();
    await rm(root, { recursive: true, force: true });
  };
  if (!fleet && options.env?.SVC_DB_URL === undefined)
    await writeMigratedFile(join(data_dir, "flotilla.db"));
  let running = await start().catch(async (err) => {
    await removeRoot();
    throw err;
  });
  const hub: TestHub = {
    url: running.url,
    ctx: running.ctx,
    root,
    data_dir,
    signals,
    log,
    call: async (method, path, body, init = {}) => {
      const headers = new Headers(init.headers);
      if (body !== undefined && !headers.has("content-type"))
        headers.set("content-type", "application/json");
      const response = await fetch(hub.url + path, {
        redirect: "manual",
        signal: AbortSignal.timeout(CALL_MS),
        ...init,
        method,
        headers,
        ...(body === undefined
          ? {}
          : { body: typeof body === "string" ? body : JSON.stringify(body) }),
      });
      const text = await response.text();
      return { status: response.status, headers: response.headers, text, body: parse(text) };
    },
    everywhere: async (holds) => {
      await until("every hub to know", SPREAD_MS, () => running.contexts.every(holds));
    },
    dial: (worker) => {
      const fake = connectFakeWorker(hub.url, { ...ofToken(env), ...worker });
      workers.push(fake);
      return fake;
    },
    worker: async (worker) => {
      const fake = hub.dial(worker);
      await fake.registered;
      return fake;
    },
    stop: async () => {
      await running.stop();
      await Promise.all(workers.splice(0).map((w) => w.close()));
    },
    restart: async () => {
      await hub.stop();
      running = await start();
      hub.url = running.url;
      hub.ctx = running.ctx;
    },
    close: async () => {
      await hub.stop();
      await removeRoot();
    },
  };
  return hub;
}

/** The usual job of a test. */
export const TARGET = "http://site.test/page";
