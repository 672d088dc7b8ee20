import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { TOOLS } from "#hub/program/mcp/tools.ts";
import { API_TOOLS, installApiTools, run } from "#test/support/rigs/api-tools.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";
import { PROGRAM } from "#test/support/rigs/program.ts";

/** The protocol's inspector, which is a client of another make than the tests' own, at both transports (rules/mcp). */

setDefaultTimeout(300_000);

let hub: TestHub;
let home = "";
beforeAll(async () => {
  await installApiTools();
  home = await mkdtemp(join(tmpdir(), "flotilla-inspector-"));
  hub = await startTestHub({ alone: true });
}, 300_000);
afterAll(async () => {
  await hub?.close();
  await rm(home, { recursive: true, force: true });
});

const CLI = "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js";
async function inspect(target: readonly string[], ...asked: string[]) {
  const argv = [process.execPath, CLI, "--cli", ...target, ...asked];
  // It keeps what it knows of servers at home.
  const env = { HOME: home, MCP_STORAGE_DIR: home };
  return JSON.parse(await run(argv, API_TOOLS, env));
}

for (const transport of ["stdio", "http"] as const)
  test(`the inspector lists the tools over ${transport}, finds no fault in their schemas, and calls them`, async () => {
    const target =
      transport === "stdio" ? [...PROGRAM, "mcp", "-e", `SVC_HUB=${hub.url}`] : [`${hub.url}/mcp`];
    const { tools } = await inspect(target, "--method", "tools/list", "--strict");
    expect(tools.map(({ name }: { name: string }) => name)).toEqual(TOOLS.map(({ name }) => name));
    const call = ["--method", "tools/call", "--tool-name"];
    const listed = await inspect(target, ...call, "job_list", "--tool-arg", "limit=5");
    expect(JSON.stringify(listed)).toContain("jobs");
    expect(listed.isError).not.toBe(true);
  });
