import { afterAll, beforeAll, expect, test } from "bun:test";
import { UsageError } from "#hub/program/cli/exit.ts";
import { runClientCommand } from "#hub/program/cli/run-command.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";

/** `flotilla link` and `flotilla audit` against a hub. */

const TOKEN = "t0ken-of-the-test";
const PASSWORD = "password-of-the-test";

let hub: TestHub;
beforeAll(async () => {
  hub = await startTestHub({
    alone: true,
    env: { SVC_API_TOKEN: TOKEN, SVC_ADMIN_PASSWORD: PASSWORD },
  });
});
afterAll(() => hub.close());

async function run(
  command: "link" | "audit",
  words: string[],
  flags: Record<string, string[]> = {},
  env: Record<string, string> = { SVC_ADMIN_PASSWORD: PASSWORD },
) {
  let out = "";
  let err = "";
  const code = await runClientCommand(
    command,
    words,
    flags,
    { SVC_HUB: hub.url, SVC_API_TOKEN: TOKEN, ...env },
    {
      out: (text: string) => {
        out += text;
      },
      err: (text: string) => {
        err += text;
      },
      width: 200,
    } as never,
    new AbortController().signal,
  );
  return { code, out, err };
}

test("flotilla link prints the link, which opens what it names; end-all ends it", async () => {
  const made = await hub.call(
    "POST",
    "/jobs",
    { url: "http://site.test/" },
    {
      headers: { authorization: `Bearer ${TOKEN}` },
    },
  );
  const { code, out } = await run("link", ["asset", made.body.job_id], { expires: ["60"] });
  expect(code).toBe(0);
  const url = out.trim();
  expect((await fetch(url)).status).toBe(200);
  const json = await run("link", ["asset", made.body.job_id], { json: ["1"] });
  expect(JSON.parse(json.out)).toMatchObject({ kind: "asset", mode: "view", name: null });
  expect(await run("link", ["end-all"], {}, {})).toMatchObject({
    code: 1,
    err: "flotilla: the administrator password is required\ntry: set SVC_ADMIN_PASSWORD\n",
  });
  expect(await run("link", ["end-all"])).toMatchObject({ code: 0 });
  expect((await fetch(url)).status).toBe(403);
});

test("what it cannot make a link of is said", async () => {
  for (const words of [[], ["viewer"], ["job", "x"], ["viewer", "x", "y"], ["end-all", "x"]])
    await expect(run("link", words)).rejects.toThrow(UsageError);
  expect(await run("link", ["viewer", "none"])).toMatchObject({
    code: 1,
    err: "flotilla: session not found\ntry: flotilla sessions\n",
  });
  expect((await run("link", ["cdp", "none"], { mode: ["view"] })).err).toContain(
    "DevTools cannot be restricted to viewing",
  );
  expect((await run("link", ["asset", "none"], { expires: ["soon"] })).code).toBe(2);
});

test("flotilla audit lists who changed what", async () => {
  await hub.call("DELETE", "/jobs/none-of-these", undefined, {
    headers: { authorization: `Bearer ${TOKEN}` },
  });
  let found = await run("audit", [], { method: ["DELETE"], route: ["/jobs/:id"] });
  // It is stored once a second.
  while (!found.out.includes("/jobs/none-of-these")) {
    await Bun.sleep(100);
    found = await run("audit", [], { method: ["DELETE"], route: ["/jobs/:id"] });
  }
  expect(found.code).toBe(0);
  expect(found.out).toMatch(/api token +127\.0\.0\.1 +DELETE \/jobs\/none-of-these +404 +1/);
  expect(await run("audit", [], { who: ["nobody at all"] })).toMatchObject({ out: "no entries\n" });
  expect((await run("audit", [], {}, {})).err).toContain("administrator password is required");
  expect((await run("audit", [], { status: ["abc"] })).code).toBe(2);
});
