import { expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { until } from "#test/support/rigs/fleet-process.ts";
import { shareSessionFleet } from "#test/support/rigs/session-fleet.ts";

/** `@playwright/mcp --cdp-endpoint`, unmodified, at a session: what agents of other makers drive a browser with. */

const rig = shareSessionFleet((site) => {
  const page = (path: string, html: string) =>
    site.body(path, { mime: "text/html", bytes: Buffer.from(html) });
  page(
    "/",
    `<title>Form</title><label>Name <input id=name></label>
    <button onclick="document.title = 'Hello ' + document.querySelector('#name').value">Greet</button>
    <button onclick="document.title = prompt('And you?')">Ask</button>
    <a href="/second" target=_blank>Open</a>`,
  );
  page("/second", "<title>Second</title><h1>Second page</h1>");
});

interface Mcp {
  /** The text of a tool's answer. @throws when the tool failed */
  tool(name: string, args?: Record<string, unknown>): Promise<string>;
  close(): Promise<void>;
}

const CALL_MS = 60_000;

async function startMcp(cdp_endpoint: string): Promise<Mcp> {
  const home = dirname(fileURLToPath(import.meta.resolve("@playwright/mcp/package.json")));
  // It writes what it saw of pages below its working directory.
  const dir = await mkdtemp(join(tmpdir(), "flotilla-mcp-"));
  const program = Bun.spawn(
    [
      ...[process.execPath, join(home, "cli.js"), "--cdp-endpoint", cdp_endpoint],
      // Five seconds by default, which is too little for a busy machine.
      `--timeout-action=${CALL_MS}`,
    ],
    {
      cwd: dir,
      stdin: "pipe",
      stdout: "pipe",
      stderr: "inherit",
    },
  );
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  const fail = (why: string) => {
    for (const { reject } of waiting.values()) reject(new Error(why));
  };
  const read = async () => {
    let rest = "";
    const decoder = new TextDecoder();
    for await (const chunk of program.stdout) {
      rest += decoder.decode(chunk, { stream: true });
      const lines = rest.split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        const { id, result, error } = JSON.parse(line);
        if (error) waiting.get(id)?.reject(new Error(error.message));
        else waiting.get(id)?.resolve(result);
      }
    }
    fail("the server has ended");
  };
  void read();
  let id = 0;
  const say = (message: object) => {
    program.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
    void program.stdin.flush();
  };
  const ask = async (method: string, params: object): Promise<unknown> => {
    id += 1;
    const answered = Promise.withResolvers<unknown>();
    waiting.set(id, answered);
    const late = setTimeout(() => answered.reject(new Error(`${method}: no answer`)), CALL_MS);
    say({ id, method, params });
    return answered.promise.finally(() => clearTimeout(late));
  };
  await ask("initialize", {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "test", version: "1" },
  });
  say({ method: "notifications/initialized" });
  return {
    tool: async (name, args = {}) => {
      const answer = (await ask("tools/call", { name, arguments: args })) as {
        isError?: boolean;
        content: { text?: string }[];
      };
      const text = answer.content.map((part) => part.text ?? "").join("\n");
      if (answer.isError) throw new Error(`${name}: ${text}`);
      return text;
    },
    close: async () => {
      program.stdin.end();
      await program.exited;
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** The handle that a snapshot gives an element. */
function refOf(snapshot: string, element: string): string {
  const line = snapshot.split("\n").find((text) => text.includes(element));
  const ref = /\[ref=(\w+)\]/.exec(line ?? "")?.[1];
  if (ref === undefined) throw new Error(`no ${element} in ${snapshot}`);
  return ref;
}

test("@playwright/mcp navigates, types, clicks, answers a dialog and follows a tab of a session", async () => {
  const session = await rig.fleet.open();
  const mcp = await startMcp(session.cdp_url);
  try {
    await mcp.tool("browser_navigate", { url: `${rig.site.origin}/` });
    const snapshot = await mcp.tool("browser_snapshot");
    const on = (element: string) => ({ element, target: refOf(snapshot, element) });
    await mcp.tool("browser_type", { ...on("textbox"), text: "Ada" });
    await mcp.tool("browser_click", on('button "Greet"'));
    expect((await session.state()).title).toBe("Hello Ada");

    const asked = await mcp.tool("browser_click", on('button "Ask"'));
    expect(asked).toContain("And you?");
    await mcp.tool("browser_handle_dialog", { accept: true, promptText: "Grace" });
    expect((await session.state()).title).toBe("Grace");

    await mcp.tool("browser_click", on('link "Open"'));
    const tabs = await until("the tab that was opened", 60_000, async () => {
      const listed = await mcp.tool("browser_tabs", { action: "list" });
      return listed.includes("/second") ? listed : null;
    });
    expect(tabs).toContain("[Grace]");
    expect(tabs).not.toContain("chrome://");
  } finally {
    await mcp.close();
    await session.end();
  }
}, 180_000);
