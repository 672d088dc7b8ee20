import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { API_TOOLS } from "../rigs/api-tools.ts";
import type { HttpSession } from "../rigs/session-fleet.ts";
import { type StdioMcp, startStdioMcp } from "./stdio-mcp.ts";

/** Other makers' servers of tools for agents, started at a session by the commands of the guide's page about agents. */

const PLAYWRIGHT = dirname(fileURLToPath(import.meta.resolve("@playwright/mcp/package.json")));
const DEVTOOLS = join(API_TOOLS, "node_modules/chrome-devtools-mcp/build/src/bin");
/** What each command begins with, and the same program as it is installed here. */
const PROGRAMS: Readonly<Record<string, readonly string[]>> = {
  "npx @playwright/mcp": [process.execPath, join(PLAYWRIGHT, "cli.js")],
  "npx chrome-devtools-mcp": [
    Bun.which("node") ?? process.execPath,
    join(DEVTOOLS, "chrome-devtools-mcp.js"),
  ],
};

/** Pastes a command of the page, with `flags` after it. The token is left out for a hub that asks for none. */
export function startFromGuide(
  command: string,
  { session, token }: { session: HttpSession; token?: string },
  flags: readonly string[],
  env: Record<string, string> = {},
): Promise<StdioMcp> {
  const [npx = ""] = /^npx \S+/.exec(command) ?? [];
  const program = PROGRAMS[npx];
  if (program === undefined) throw new Error(`nothing here is started by ${command}`);
  if (command.includes("flt_…") !== (token !== undefined))
    throw new Error(`a token is shown or left out against the page: ${command}`);
  const here = command
    .trim()
    .replace(npx, program.map((word) => `"${word}"`).join(" "))
    .replace("hub.lan:8000", new URL(session.url).host)
    .replace("flt_…", token ?? "");
  const script = `exec ${here} ${flags.join(" ")}`;
  return startStdioMcp(["sh", "-c", script], { ...env, S: session.session_id });
}
