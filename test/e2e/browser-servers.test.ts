import { expect, test } from "bun:test";
import { startFromGuide } from "#test/support/clients/guide-mcp.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { seededBlocks } from "#test/support/rigs/seeded-blocks.ts";
import { type HttpSession, shareSessionFleet } from "#test/support/rigs/session-fleet.ts";

/**
 * What agents of other makers drive a browser with, unmodified and started as the guide says: `@playwright/mcp`, and
 * `chrome-devtools-mcp`, which are Chromium's own tools for agents (rules/cdp#discovery).
 */

const [PLAYWRIGHT = "", BY_SOCKET = "", BY_ADDRESS = ""] = seededBlocks(
  "how-to/mcp.md#browser-servers-of-other-makers",
  3,
);
const LONG = 180_000;

const rig = shareSessionFleet((site) => {
  const page = (path: string, html: string) =>
    site.body(path, { mime: "text/html", bytes: Buffer.from(html) });
  page(
    "/",
    `<title>Form</title><label>Name <input id=name></label>
    <button onclick="document.title = 'Hello ' + document.querySelector('#name').value">Greet</button>
    <button onclick="document.title = prompt('And you?')">Ask</button>
    <a href="/second" target=_blank>Open</a>
    <script>console.warn("a word"); fetch("/data.json");</script>`,
  );
  page("/second", "<title>Second</title><h1>Second page</h1>");
  site.body("/data.json", { mime: "application/json", bytes: Buffer.from(`{"n":1}`) });
});

/** Runs `use` with a session of its own. */
async function inSession(use: (session: HttpSession) => Promise<void>): Promise<void> {
  const session = await rig.fleet.open();
  try {
    await use(session);
  } finally {
    await session.end();
  }
}

/** What a snapshot calls an element. */
function handleOf(snapshot: string, pattern: RegExp): string {
  const [, handle] = pattern.exec(snapshot) ?? [];
  if (handle === undefined) throw new Error(`no ${pattern} in ${snapshot}`);
  return handle;
}

/** Five seconds by default, which is too little for a busy machine. */
const PATIENT = ["--timeout-action=60000"];

test(
  "@playwright/mcp navigates, types, clicks, answers a dialog and follows a tab of a session, with a token",
  () =>
    inSession((session) =>
      rig.fleet.withToken("operator", async (token) => {
        const mcp = await startFromGuide(PLAYWRIGHT, { session, token }, PATIENT);
        try {
          await mcp.tool("browser_navigate", { url: `${rig.site.origin}/` });
          const snapshot = await mcp.tool("browser_snapshot");
          const on = (element: string) => ({
            element,
            target: handleOf(snapshot, new RegExp(`${element}.*\\[ref=(\\w+)\\]`)),
          });
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
        }
      }),
    ),
  LONG,
);

/** It tells its maker nothing. */
const SILENT = { CI: "1" };

test(
  "chrome-devtools-mcp navigates, fills, clicks, reads console and requests, and opens a tab of a session",
  () =>
    inSession(async (session) => {
      const flags = ["--no-page-id-routing"];
      const mcp = await startFromGuide(BY_ADDRESS, { session }, flags, SILENT);
      try {
        await mcp.tool("navigate_page", { type: "url", url: `${rig.site.origin}/` });
        const snapshot = await mcp.tool("take_snapshot");
        const uid = (element: string) => handleOf(snapshot, new RegExp(`uid=(\\S+) ${element}`));
        await mcp.tool("fill", { uid: uid('textbox "Name"'), value: "Ada" });
        await mcp.tool("click", { uid: uid('button "Greet"') });
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
      }
    }),
  LONG,
);

test(
  "chrome-devtools-mcp drives a session by the address of its socket, with a token and with no wrong one",
  () =>
    inSession(async (session) => {
      await session.act("navigate", { url: `${rig.site.origin}/second` });
      await rig.fleet.withToken("operator", async (token) => {
        const listed = async (shown: string) => {
          const mcp = await startFromGuide(BY_SOCKET, { session, token: shown }, [], SILENT);
          return mcp.tool("list_pages").finally(() => mcp.close());
        };
        expect(await listed(token)).toContain("/second");
        await expect(listed("flt_wrong")).rejects.toThrow("Unexpected server response: 401");
      });
    }),
  LONG,
);
