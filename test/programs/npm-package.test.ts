import { afterAll, beforeAll, expect, test } from "bun:test";
import { cpSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { FakeWorker } from "#test/support/fakes/fake-worker.ts";
import { API_TOOLS, installApiTools, run } from "#test/support/rigs/api-tools.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";
import { ROOT } from "../../scripts/build.ts";
import { buildClient } from "../../scripts/build-client.ts";

/** The npm package, packed and installed in a project of somebody else's, against a hub that asks for a token. */

const TOKEN = "a-token-of-the-installation";
const TARGET = "http://site.test/page";
const SLOW_MS = 300_000;

let hub: TestHub;
let dir: string;
let project: string;
beforeAll(async () => {
  await installApiTools();
  hub = await startTestHub({ env: { SVC_API_TOKEN: TOKEN } });
  const worker = await hub.worker({ lanes: 1 });
  void endEveryJob(worker);
  dir = mkdtempSync(join(tmpdir(), "flotilla-npm-"));
  const built = join(dir, "built");
  await buildClient(built);
  await run([process.execPath, "pm", "pack", "--destination", dir], built);
  const [packed = ""] = readdirSync(dir).filter((name) => name.endsWith(".tgz"));
  project = join(dir, "project");
  await Bun.write(join(project, "package.json"), '{ "name": "scratch", "type": "module" }');
  await run([process.execPath, "add", join(dir, packed)], project);
  cpSync(join(import.meta.dir, "callers/npm-package.mjs"), join(project, "caller.mjs"));
}, SLOW_MS);
afterAll(async () => {
  await hub?.close();
  if (dir) rmSync(dir, { recursive: true });
});

async function endEveryJob(worker: FakeWorker): Promise<void> {
  for (;;) worker.finish(await worker.assigned.next());
}

test.each([
  ["Node 20", join(API_TOOLS, "node_modules/.bin/node")],
  ["Bun", process.execPath],
])(
  "in %s the package runs a job and a session, submits tasks, and throws FlotillaError",
  async (_, runtime) => {
    const env = { ADDRESS: hub.url, TOKEN, TARGET };
    expect(JSON.parse(await run([runtime, "caller.mjs"], project, env))).toEqual({
      health: "ok",
      job: "completed",
      ended_with: "done",
      clicked: { action: "click", args: { selector: "#go", button: "left", click_count: 1 } },
      submitted: 2,
      pending: 2,
      refused: [404, "workload not found"],
      stranger: [401, "a bearer token is required"],
      away: ["FlotillaError", 0],
    });
  },
  SLOW_MS,
);

const TYPED = `import { createClient, type Job } from "flotilla";
const { jobs, sessions } = createClient({ base_url: "http://hub.test" });
export const job: Job = await jobs.submit({ url: "http://site.test/", options: { idle_seconds: 1 } });
export const seen: number | undefined = job.capture?.seen;
await using session = await sessions.open();
export const { result } = await session.evaluate<string>({ code: "document.title" });
export const title: string = result;
// @ts-expect-error a click takes no text
await session.click({ text: 7 });
// @ts-expect-error there is no such state
export const wrong = job.status === "nowhere";
`;

test(
  "its types say what calls take and give, and need neither zod nor the types of Bun or Node",
  async () => {
    await Bun.write(join(project, "typed.ts"), TYPED);
    const tsc = [join(ROOT, "node_modules/.bin/tsc"), "--noEmit", "--strict", "--target", "esnext"];
    const how = ["--module", "nodenext", "--lib", "esnext,dom,dom.iterable", "--types", ""];
    expect(await run([...tsc, ...how, "typed.ts"], project)).toBe("");
  },
  SLOW_MS,
);
