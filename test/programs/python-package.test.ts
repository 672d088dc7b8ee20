import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SESSION_ACTIONS } from "#shared/protocol/actions/session-actions.ts";
import type { FakeWorker } from "#test/support/fakes/fake-worker.ts";
import { run } from "#test/support/rigs/api-tools.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";
import packageJson from "../../package.json" with { type: "json" };
import { ROOT } from "../../scripts/build.ts";

/** The Python package, built as a wheel, installed in an environment of its own and called against a hub with a token. */

const TOKEN = "a-token-of-the-installation";
const TARGET = "http://site.test/page";
const SLOW_MS = 300_000;
/** Debian's, which has the packages that build a wheel: another one on the PATH may not. */
const PYTHON = existsSync("/usr/bin/python3") ? "/usr/bin/python3" : "python3";

let hub: TestHub;
let dir: string;
let python: string;
let wheel: string;
beforeAll(async () => {
  hub = await startTestHub({ env: { SVC_API_TOKEN: TOKEN } });
  void endEveryJob(await hub.worker({ lanes: 1 }));
  dir = mkdtempSync(join(tmpdir(), "flotilla-python-"));
  // Building leaves files beside the sources.
  const sources = join(dir, "sources");
  await run(["cp", "-r", join(ROOT, "clients/python"), sources], dir);
  const offline = ["--no-deps", "--no-index", "--disable-pip-version-check", "--quiet"];
  const build = [PYTHON, "-m", "pip", "wheel", ...offline, "--no-build-isolation", "-w", dir];
  await run([...build, sources], dir);
  wheel = readdirSync(dir).find((name) => name.endsWith(".whl")) ?? "";
  await run([PYTHON, "-m", "venv", "environment"], dir);
  python = join(dir, "environment/bin/python");
  await run([python, "-m", "pip", "install", ...offline, wheel], dir);
}, SLOW_MS);
afterAll(async () => {
  await hub?.close();
  if (dir) rmSync(dir, { recursive: true });
});

async function endEveryJob(worker: FakeWorker): Promise<void> {
  for (;;) worker.finish(await worker.assigned.next());
}

test("the wheel has the version of the product", () => {
  expect(wheel).toBe(`flotilla-${packageJson.version}-py3-none-any.whl`);
});

test(
  "the package runs a job and a session, submits tasks, and raises FlotillaError",
  async () => {
    const caller = join(import.meta.dir, "callers/python_package.py");
    const env = { ADDRESS: hub.url, TOKEN, TARGET };
    expect(JSON.parse(await run([python, "-W", "error", caller], dir, env))).toEqual({
      actions: Object.keys(SESSION_ACTIONS).sort(),
      health: "ok",
      figures: 120,
      job: "completed",
      ended_with: "done",
      clicked: { action: "click", args: { selector: "#go", button: "left", click_count: 1 } },
      typed: { action: "fill", args: { selector: "#name", text: "Ada" } },
      picture: "screenshot",
      opened: true,
      closed: [404, "session not found"],
      listed: [TARGET],
      submitted: 2,
      pending: 2,
      refused: [404, "workload not found"],
      broken: [422, expect.arrayContaining([expect.objectContaining({ loc: expect.anything() })])],
      stranger: [401, "a bearer token is required"],
      away: 0,
    });
  },
  SLOW_MS,
);

const WITHOUT_A_LANE = `
import os
from flotilla import create_client
hub = create_client(os.environ["ADDRESS"])
job = hub.jobs.submit({"url": os.environ["TARGET"]}, patience_s=0)
print(job["status"], len(hub.jobs.list()["jobs"]), end="")
`;

test(
  "a job that finds no lane stays one job in the queue, and is given back queued when the patience is over",
  async () => {
    const idle = await startTestHub();
    try {
      const env = { ADDRESS: idle.url, TARGET };
      expect(await run([python, "-c", WITHOUT_A_LANE], dir, env)).toBe("queued 1");
    } finally {
      await idle.close();
    }
  },
  SLOW_MS,
);
