import { expect, test } from "bun:test";
import { join } from "node:path";
import { startStdioMcp } from "#test/support/clients/stdio-mcp.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { shareSessionFleet } from "#test/support/rigs/session-fleet.ts";

/** `chrome-devtools-mcp --browserUrl`, unmodified, at a session: Chromium's own tools for agents (rules/cdp#discovery). */

const PROGRAM = join(
  import.meta.dir,
  "../api-tools/node_modules/chrome-devtools-mcp/build/src/bin/chrome-devtools-mcp.js",
);

const rig = shareSessionFleet((site) => {
  const page = (path: string, html: string) =>
    site.body(path, { mime: "text/html", bytes: Buffer.from(html) });
  page(
    "/",
    `<title>Form</title><label>Name <input id=name></label>
    <button onclick="document.title = 'Hello ' + document.querySelector('#name').value">Greet</button>
    <script>console.warn("a word"); fetch("/data.json");</script>`,
  );
  page("/second", "<title>Second</title><h1>Second page</h1>");
  site.body("/data.json", { mime: "application/json", bytes: Buffer.from(`{"n":1}`) });
});

/** The handle that a snapshot gives an element. */
function uidOf(snapshot: string, element: string): string {
  const uid = new RegExp(`uid=(\\S+) ${element}`).exec(snapshot)?.[1];
  if (uid === undefined) throw new Error(`no ${element} in ${snapshot}`);
  return uid;
}

test("chrome-devtools-mcp navigates, fills, clicks, reads console and requests, and opens a tab of a session", async () => {
  const session = await rig.fleet.open();
  // As `http://hub/sessions/S`.
  const address = session.cdp_url.replace(/^ws/, "http").replace(/\/cdp$/, "");
  const node = Bun.which("node") ?? process.execPath;
  const mcp = await startStdioMcp(
    [node, PROGRAM, "--browserUrl", address, "--no-page-id-routing", "--no-usage-statistics"],
    { CI: "1" },
  );
  try {
    await mcp.tool("navigate_page", { type: "url", url: `${rig.site.origin}/` });
    const snapshot = await mcp.tool("take_snapshot");
    await mcp.tool("fill", { uid: uidOf(snapshot, 'textbox "Name"'), value: "Ada" });
    await mcp.tool("click", { uid: uidOf(snapshot, 'button "Greet"') });
    expect((await session.state()).title).toBe("Hello Ada");
    expect(await mcp.tool("list_console_messages")).toContain("a word");
    expect(await mcp.tool("list_network_requests")).toContain("/data.json");
    await mcp.tool("new_page", { url: `${rig.site.origin}/second` });
    const pages = await until("the tab that was opened", 60_000, async () => {
      const listed = await mcp.tool("list_pages");
      return listed.includes("/second") ? listed : null;
    });
    expect(pages).not.toContain("chrome://");
  } finally {
    await mcp.close();
    await session.end();
  }
}, 180_000);
