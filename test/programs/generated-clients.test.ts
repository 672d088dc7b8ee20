import { afterAll, beforeAll, expect, test } from "bun:test";
import { cpSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { API_TOOLS, installApiTools, run } from "#test/support/rigs/api-tools.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";
import { ROOT } from "../../scripts/build.ts";

/** Clients that others make from /openapi.json: made, compiled and called against a hub that asks for a token. */

const MAKERS = ["openapi-typescript", "hey-api", "orval"] as const;
const TOKEN = "a-token-of-the-installation";
const TARGET = "http://site.test/page?a=b";
/** Three clients of 40,000 lines are made and compiled, on a machine that other tests keep busy. */
const SLOW_MS = 300_000;

let hub: TestHub;
let dir: string;
beforeAll(async () => {
  await installApiTools();
  hub = await startTestHub({
    // A job that a lane is free for is running, however long it takes to get there.
    env: { SVC_API_TOKEN: TOKEN, SVC_SUBMIT_WAIT_S: "60" },
  });
  await hub.worker({ lanes: MAKERS.length });
  dir = mkdtempSync(join(tmpdir(), "flotilla-clients-"));
  const headers = { authorization: `Bearer ${TOKEN}` };
  const { text } = await hub.call("GET", "/openapi.json", undefined, { headers });
  const description = join(dir, "openapi.json");
  await Bun.write(description, text);
  symlinkSync(join(API_TOOLS, "node_modules"), join(dir, "node_modules"));
  cpSync(join(API_TOOLS, "tsconfig.json"), join(dir, "tsconfig.json"));
  await Bun.write(join(dir, "globals.d.ts"), GLOBALS);
  await run([process.execPath, "generate.ts", description, hub.url, dir], API_TOOLS);
  for (const maker of MAKERS)
    cpSync(join(API_TOOLS, `callers/${maker}.ts`), join(dir, maker, "caller.ts"));
}, SLOW_MS);
afterAll(async () => {
  await hub?.close();
  if (dir) rmSync(dir, { recursive: true });
});

/** All that the callers use beside the client. */
const GLOBALS = "declare const process: { env: Record<string, string | undefined> };\n";

test(
  "the clients that three generators make compile, with programs that use their types",
  async () => {
    const compiler = join(ROOT, "node_modules/.bin/tsc");
    expect(await run([compiler, "-p", "."], dir)).toBe("");
  },
  SLOW_MS,
);

test.each(MAKERS)(
  "the client that %s makes submits a job and tasks, and tells a refusal by its detail",
  async (maker) => {
    const env = { ADDRESS: hub.url, TOKEN, TARGET };
    const printed = await run([process.execPath, "caller.ts"], join(dir, maker), env);
    expect(JSON.parse(printed)).toEqual({
      health: "ok",
      job: "running",
      listed: [TARGET],
      made: true,
      submitted: 2,
      pending: 2,
      missing: [404, "run not found"],
      gone: 204,
    });
  },
  SLOW_MS,
);
