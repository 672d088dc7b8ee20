import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type FleetProcesses, startFleet } from "#test/support/rigs/fleet-process.ts";
import { PROGRAM, type Program, startProgram } from "#test/support/rigs/program.ts";
import { freePort } from "#test/support/servers/ports.ts";
import { startPostgres, type TestPostgres } from "#test/support/servers/postgres.ts";

/** A control plane in a process of its own, which the worker of a lane never dials: no lane opens it. */

const SLOW_MS = 240_000;
let server: TestPostgres;
let control: Program;
let fleet: FleetProcesses;
let dir: string;
const url = `http://127.0.0.1:${freePort()}`;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "flotilla-control-"));
  server = await startPostgres();
  const SVC_DB_URL = await server.createDatabase();
  const at = { SVC_HOST: "127.0.0.1", SVC_PORT: new URL(url).port, SVC_DATA_DIR: dir };
  control = startProgram([...PROGRAM, "control"], { env: { ...at, SVC_DB_URL } });
  await control.says("control plane started", 120_000);
  fleet = await startFleet({ lanes: 1, headless: true, env: { SVC_DB_URL } });
  await fleet.lanesWarm();
}, SLOW_MS);
afterAll(async () => {
  await fleet?.stop();
  control?.kill("SIGTERM");
  await control?.exited;
  await server?.stop();
  rmSync(dir, { recursive: true, force: true });
}, SLOW_MS);

test(
  "a worker that serves browsers alone hears from its hub where the control plane is (rules/egress#never-reachable)",
  async () => {
    expect((await fetch(`${url}/api/v1/workloads`)).status).toBe(200);
    for (const host of ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]"]) {
      const opened = `http://${host}:${new URL(url).port}/api/v1/workloads`;
      const { job_id } = await fleet.submit(opened, { idle_seconds: 1 });
      const { status, error } = await fleet.finished(job_id);
      expect({ host, status, error }).toEqual({
        host,
        status: "failed",
        error: expect.stringContaining("is the control plane of this fleet"),
      });
    }
  },
  SLOW_MS,
);
