import { expect, test } from "bun:test";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type StdioMcp, startStdioMcp } from "#test/support/clients/stdio-mcp.ts";
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

/** Five seconds by default, which is too little for a busy machine. */
const ACTION_MS = 60_000;

function startMcp(cdp_endpoint: string): Promise<StdioMcp> {
  const home = dirname(fileURLToPath(import.meta.resolve("@playwright/mcp/package.json")));
  return startStdioMcp([
    ...[process.execPath, join(home, "cli.js"), "--cdp-endpoint", cdp_endpoint],
    `--timeout-action=${ACTION_MS}`,
  ]);
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
