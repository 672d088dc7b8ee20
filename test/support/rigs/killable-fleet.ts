import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort, lanePorts } from "../servers/ports.ts";
import { upgradedApp } from "../servers/upgraded-app.ts";
import { until } from "./fleet-process.ts";
import { PROGRAM, type Program, startProgram } from "./program.ts";

const START_MS = 100_000;
const PASSWORD = "password-of-the-fleet";

/** A hub that is killed and started again on its port and its data, beside a worker that stays. */
export interface KillableFleet {
  readonly url: string;
  readonly admin_password: string;
  /** Of the hub; its plugins lie below it. */
  readonly data_dir: string;
  api<T = unknown>(method: string, path: string, json?: unknown): Promise<T>;
  /** SIGKILL; resolves when nobody listens any more. */
  kill(): Promise<void>;
  /** Instead of what runs. Resolves when the hub answers; its worker comes back by itself. */
  start(version: "this" | "next"): Promise<void>;
  close(): Promise<void>;
}

async function callHub<T>(url: string, method: string, path: string, json?: unknown): Promise<T> {
  const response = await fetch(url + path, {
    method,
    headers: {
      "x-admin-password": PASSWORD,
      ...(json === undefined ? {} : { "content-type": "application/json" }),
    },
    body: json === undefined ? null : JSON.stringify(json),
    signal: AbortSignal.timeout(60_000),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text.slice(0, 500)}`);
  return (text === "" ? null : JSON.parse(text)) as T;
}

/** @param lanes of its worker; they have no screen */
export async function killableFleet(lanes: number): Promise<KillableFleet> {
  const dir = mkdtempSync(join(tmpdir(), "flotilla-killable-"));
  const port = freePort();
  const url = `http://127.0.0.1:${port}`;
  const data_dir = join(dir, "hub");
  const programs = { this: PROGRAM, next: (await upgradedApp(join(dir, "next"))).program };
  const api = <T>(method: string, path: string, json?: unknown) =>
    callHub<T>(url, method, path, json);
  const startHub = (version: "this" | "next"): Program =>
    startProgram([...programs[version], "hub", `--port=${port}`, `--data-dir=${data_dir}`], {
      cwd: dir,
      env: {
        FLOTILLA_TEST: dir,
        SVC_ADMIN_PASSWORD: PASSWORD,
        SVC_DEPLOY_ARGV: JSON.stringify(["echo"]),
      },
    });
  let hub = startHub("this");
  await hub.says("hub started");
  const worker = startProgram(
    [
      ...[...PROGRAM, "worker", `--hub-url=${url}`, `--control-url=${url}`],
      ...[`--lanes=${lanes}`, "--headless-lanes", `--data-dir=${join(dir, "worker")}`],
    ],
    {
      cwd: dir,
      env: {
        FLOTILLA_TEST: dir,
        // It is to stay as it is while the hub becomes another version.
        SVC_WORKER_AUTO_FETCH_SOURCE: "0",
        SVC_WORKER_AUTO_EXIT_ON_VERSION_MISMATCH: "0",
        // The session that the tests leave open is not waited for.
        SVC_DRAIN_TIMEOUT_S: "0",
        ...lanePorts(),
      },
    },
  );
  const kill = async () => {
    hub.kill("SIGKILL");
    await hub.exited;
  };
  const isReady = async () => {
    const { workers } = await api<{ workers: { lanes: { state: string }[] }[] }>(
      "GET",
      "/workers",
    ).catch(() => ({ workers: [] }));
    return workers.some(({ lanes: has }) => has.length === lanes);
  };
  const ready = () => until("the hub and its worker", START_MS, isReady);
  const close = async () => {
    worker.kill("SIGTERM");
    await worker.exited;
    await kill();
    rmSync(dir, { recursive: true, force: true });
  };
  await ready().catch(async (err) => {
    await close();
    throw err;
  });
  return {
    url,
    admin_password: PASSWORD,
    data_dir,
    api,
    kill,
    start: async (version) => {
      await kill();
      hub = startHub(version);
      await hub.says("hub started");
    },
    close,
  };
}
