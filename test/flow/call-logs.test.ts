import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "#test/support/rigs/fleet-process.ts";
import { PROGRAM, type Program, startProgram } from "#test/support/rigs/program.ts";
import { freePort } from "#test/support/servers/ports.ts";

/** Calls as lines of the log, for those who gather logs elsewhere (rules/operations#logs). */

setDefaultTimeout(120_000);

const TOKEN = "t0ken-of-the-test";
/** Stands in a query and in a body, and must come back nowhere. */
const HIDDEN = "h1dden-of-the-caller";

let dir: string;
let program: Program;
let url: string;
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "flotilla-call-logs-"));
  const port = freePort();
  url = `http://127.0.0.1:${port}`;
  program = startProgram([...PROGRAM, "control"], {
    env: {
      SVC_HOST: "127.0.0.1",
      SVC_PORT: String(port),
      SVC_DATA_DIR: dir,
      SVC_API_TOKEN: TOKEN,
      SVC_ACCESS_LOG: "1",
      SVC_AUDIT_LOG: "1",
    },
  });
  await program.says("control plane started", 60_000);
});
afterAll(async () => {
  program?.kill("SIGTERM");
  await program?.exited;
  rmSync(dir, { recursive: true, force: true });
});

const line = (message: string, method: string) =>
  until(`${message} of a ${method}`, 30_000, () =>
    program.stderr
      .split("\n")
      .filter((text) => text.startsWith("{"))
      .map((text) => JSON.parse(text) as Record<string, unknown>)
      .find((one) => one.message === message && one.method === method),
  );

test("SVC_ACCESS_LOG logs every answered request with its caller, and SVC_AUDIT_LOG every audit entry", async () => {
  const user = { authorization: `Bearer ${TOKEN}` };
  await fetch(`${url}/api/v1/workloads?limit=5&token=${HIDDEN}`, { headers: user });
  expect(await line("request answered", "GET")).toMatchObject({
    level: "info",
    path: expect.stringContaining("/api/v1/workloads"),
    status: 200,
    caller: "api token",
    address: "127.0.0.1",
  });
  const body = JSON.stringify({ slug: HIDDEN, executor_type: HIDDEN });
  const headers = { ...user, "content-type": "application/json" };
  await fetch(`${url}/api/v1/workloads`, { method: "POST", headers, body });
  expect(await line("audit entry", "POST")).toMatchObject({
    level: "info",
    caller: { kind: "api token", name: null },
    address: "127.0.0.1",
    route: "/api/v1/workloads",
    status: 422,
    times: 1,
  });
  for (const secret of [HIDDEN, TOKEN]) expect(program.stderr).not.toContain(secret);
});
