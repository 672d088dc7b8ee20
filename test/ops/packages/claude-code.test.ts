import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connectAgent } from "#test/support/clients/mcp-client.ts";
import { run } from "#test/support/rigs/api-tools.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";
import { PROGRAM } from "#test/support/rigs/program.ts";
import { seededBlocks } from "#test/support/rigs/seeded-blocks.ts";

/** Claude Code itself, which is told of a hub as the guide says and says whether it is connected (rules/mcp). */

const MINUTES = 60_000;
/** Its executable alone: 190 MB to fetch and 400 MB to keep, which is why it is not among test/api-tools. */
const PACKAGE = `@anthropic-ai/claude-code-linux-${process.arch}`;
const VERSION = "2.1.332";
const PASSWORD = "password-of-the-test";
const WRONG = "flt_wrong";

const [OVER_HTTP = "", BY_PROGRAM = ""] = seededBlocks("how-to/mcp.md#claude-code", 2);

let dir = "";
let hub: TestHub;
let token = "";

/** A machine on which a reader has both programs, and nothing else of theirs. */
async function installClaude(): Promise<void> {
  for (const name of ["bin", "home", "packages"]) mkdirSync(join(dir, name));
  const packages = join(dir, "packages");
  const add = [process.execPath, "add", "--exact", "--ignore-scripts", `${PACKAGE}@${VERSION}`];
  await run(add, packages, { BUN_INSTALL_CACHE_DIR: join(dir, "cache") });
  symlinkSync(join(packages, "node_modules", PACKAGE, "claude"), join(dir, "bin/claude"));
  const program = PROGRAM.map((word) => `"${word}"`).join(" ");
  writeFileSync(join(dir, "bin/flotilla"), `#!/bin/sh\nexec ${program} "$@"\n`, { mode: 0o755 });
}

/** What the reader sees of commands that all end well. */
function paste(commands: string, shown: string): Promise<string> {
  const here = commands
    .replaceAll("hub.lan:8000", new URL(hub.url).host)
    .replaceAll("flt_…", shown);
  const env = {
    HOME: join(dir, "home"),
    PATH: `${join(dir, "bin")}:/usr/bin:/bin`,
    LANG: "C.UTF-8",
    // It asks its maker for nothing.
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    DISABLE_AUTOUPDATER: "1",
    DISABLE_TELEMETRY: "1",
  };
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  return run(["env", "-i", ...variables, "sh", "-ec", here], env.HOME);
}
const remove = () => paste("claude mcp remove flotilla", token);

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "flotilla-claude-"));
  await installClaude();
  hub = await startTestHub({ alone: true, env: { SVC_ADMIN_PASSWORD: PASSWORD } });
  const asked = { name: "claude of ada", role: "operator" };
  const headers = { "x-admin-password": PASSWORD };
  const made = await hub.call("POST", "/tokens", asked, { headers });
  expect(made).toMatchObject({ status: 201 });
  ({ token } = made.body);
}, 10 * MINUTES);
afterAll(async () => {
  await hub?.close();
  rmSync(dir, { recursive: true, force: true });
}, 2 * MINUTES);

test(
  "Claude Code is connected over HTTP, and by the program once the first has made room",
  async () => {
    expect(await paste("claude --version", token)).toStartWith(VERSION);
    expect(await paste(OVER_HTTP, token)).toMatch(
      /^flotilla: http:\S+\/mcp \(HTTP\) - ✔ Connected$/m,
    );
    await expect(paste(BY_PROGRAM, token)).rejects.toThrow("already exists");
    await remove();
    expect(await paste(BY_PROGRAM, token)).toMatch(
      /^flotilla: flotilla mcp --hub http:\S+ - ✔ Connected$/m,
    );
    await remove();
  },
  10 * MINUTES,
);

test(
  "with a wrong token Claude Code is not connected over HTTP, and by the program to tools that are refused",
  async () => {
    const told = await paste(OVER_HTTP, WRONG);
    expect(told).toMatch(/^flotilla: \S+ \(HTTP\) - ✘ Failed to connect.* 401/m);
    expect(told).not.toContain("Connected");
    await remove();
    expect(await paste(BY_PROGRAM, WRONG)).toContain("✔ Connected");
    await remove();
    const agent = await connectAgent("stdio", hub.url, { token: WRONG });
    try {
      expect(await agent.refused("job_list")).toContain("401");
    } finally {
      await agent.close();
    }
  },
  10 * MINUTES,
);
