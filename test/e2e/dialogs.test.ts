import { describe, expect, test } from "bun:test";
import { chromium, type Dialog as PlaywrightDialog } from "playwright-core";
import type { Dialog } from "#shared/protocol/schema/dialog.ts";
import { WHERE, withPlaywright, withPuppeteer } from "#test/support/clients/cdp-libraries.ts";
import { connectRfb } from "#test/support/clients/rfb-client.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import {
  type HttpSession,
  shareSessionFleet,
  startSessionFleet,
} from "#test/support/rigs/session-fleet.ts";

/** A dialog belongs to whoever steers: to a CDP client, else to the session's policy (guide: start/first-session). */

const rig = shareSessionFleet((site) => {
  const page = (path: string, html: string) =>
    site.body(path, { mime: "text/html", bytes: Buffer.from(html) });
  page("/", "<title>Home</title>");
  page("/second", "<title>Second</title>");
  page("/loads", "<title>Loads</title><script>alert('before it has loaded')</script><p>after");
  page(
    "/leaves",
    "<title>Leaves</title><script>onbeforeunload = (e) => e.preventDefault()</script><p>click me",
  );
  page(
    "/buttons",
    `<title>Buttons</title><button onclick="answer = confirm('Delete it?')">Delete</button>`,
  );
  page("/opener", `<title>Opener</title><button onclick="window.open('/loads')">Open</button>`);
});

describe.each(WHERE)("unmodified clients of %s", (where) => {
  test("Playwright answers every kind of dialog", async () => {
    await withPlaywright(rig.fleet, where, async (browser) => {
      const context = await browser.newContext();
      const page = await context.newPage();
      await page.goto(`${rig.site.origin}/`);
      const asked: string[] = [];
      const answer = (act: (dialog: PlaywrightDialog) => Promise<void>) =>
        page.once("dialog", (dialog) => {
          asked.push(`${dialog.type()} ${dialog.message()} ${dialog.defaultValue()}`);
          void act(dialog);
        });
      answer((dialog) => dialog.accept());
      expect(await page.evaluate("alert('yo')")).toBeUndefined();
      answer((dialog) => dialog.accept());
      expect(await page.evaluate<boolean>("confirm('sure?')")).toBe(true);
      answer((dialog) => dialog.dismiss());
      expect(await page.evaluate<boolean>("confirm('sure?')")).toBe(false);
      answer((dialog) => dialog.accept("x"));
      expect(await page.evaluate<string>("prompt('name', 'yes')")).toBe("x");
      answer((dialog) => dialog.dismiss());
      expect(await page.evaluate<string | null>("prompt('name')")).toBeNull();
      expect(asked).toEqual([
        "alert yo ",
        "confirm sure? ",
        "confirm sure? ",
        "prompt name yes",
        "prompt name ",
      ]);
      // Nobody listens: Playwright itself dismisses it.
      expect(await page.evaluate<boolean>("confirm('anybody?')")).toBe(false);

      await page.goto(`${rig.site.origin}/leaves`);
      await page.click("p");
      const leaving = page.waitForEvent("dialog");
      const closed = page.waitForEvent("close");
      await page.close({ runBeforeUnload: true });
      const dialog = await leaving;
      expect(dialog.type()).toBe("beforeunload");
      await dialog.accept();
      await closed;
      await context.close();
    });
  }, 180_000);

  test("Playwright answers what a popup asks before it has loaded", async () => {
    await withPlaywright(rig.fleet, where, async (browser) => {
      const context = await browser.newContext();
      const page = await context.newPage();
      await page.goto(`${rig.site.origin}/opener`);
      const asked = Promise.withResolvers<string>();
      context.once("dialog", (dialog) => {
        asked.resolve(dialog.message());
        void dialog.dismiss();
      });
      const opened = page.waitForEvent("popup");
      await page.click("button");
      expect(await asked.promise).toBe("before it has loaded");
      const popup = await opened;
      await popup.waitForLoadState();
      expect(await popup.textContent("p")).toBe("after");
      await context.close();
    });
  }, 180_000);

  test("Puppeteer answers, too, and a client that dwells on its answer is not overtaken", async () => {
    await withPuppeteer(rig.fleet, where, async (browser) => {
      const page = await browser.newPage();
      await page.goto(`${rig.site.origin}/`);
      page.once("dialog", (dialog) => void dialog.accept("by a puppet"));
      expect(await page.evaluate("prompt('name')")).toBe("by a puppet");
      const dwell = async () => {
        // Commands in between take their time on the same way.
        for (let i = 0; i < 50; i += 1) await browser.version();
      };
      page.once("dialog", (dialog) => void dwell().then(() => dialog.accept()));
      expect(await page.evaluate("confirm('slowly?')")).toBe(true);
      await page.close();
    });
  }, 180_000);
});

/** Opens a session on a page, does what the test is about, and ends it. */
async function withSession(
  body: Record<string, unknown>,
  use: (session: HttpSession) => Promise<void>,
): Promise<void> {
  const session = await rig.fleet.open(body);
  try {
    await use(session);
  } finally {
    await session.end();
  }
}

const openDialogs = async (session: HttpSession): Promise<Dialog[]> =>
  (await session.act("dialogs")).body.result;
const firstDialog = (session: HttpSession) =>
  until("a dialog", 60_000, async () => (await openDialogs(session))[0]);

describe("without a client a dialog waits for an action", () => {
  test("an action that it blocks says so at once; it is listed, shown in the state and answered", async () => {
    await withSession({ url: `${rig.site.origin}/` }, async (session) => {
      const evaluated = await session.act("evaluate", { code: "prompt('Name?', 'Ada')" });
      expect(evaluated.status).toBe(422);
      expect(evaluated.body.error).toEqual({
        name: "DialogOpen",
        message:
          "evaluate is blocked by a prompt dialog of the page (“Name?”): answer it with the action dialog",
      });
      const expected = {
        dialog_id: "1",
        type: "prompt",
        message: "Name?",
        default_prompt: "Ada",
        url: `${rig.site.origin}/`,
        active: true,
      };
      const [dialog] = await openDialogs(session);
      expect(dialog).toMatchObject(expected);
      const { opened_at = "", closes_at } = dialog ?? {};
      expect(Date.parse(closes_at ?? "") - Date.parse(opened_at)).toBeGreaterThanOrEqual(60_000);
      expect((await session.state()).dialogs).toEqual([dialog as Dialog]);
      for (const action of ["text", "screenshot", "markdown", "ask", "agent", "recipe"]) {
        const args: Record<string, Record<string, unknown>> = {
          ask: { prompt: "?" },
          agent: { goal: "?" },
          recipe: { actions: [{ kind: "click", selector: "p" }] },
        };
        const blocked = await session.act(action, args[action]);
        expect(blocked.status).toBe(422);
        expect(blocked.body.detail).toStartWith(`${action} is blocked by a prompt dialog`);
      }
      // What needs no answer of the page goes on.
      expect((await session.act("tabs")).status).toBe(200);
      expect((await session.act("wait", { seconds: 0 })).status).toBe(200);
      const unknown = await session.act("dialog", { op: "dismiss", dialog_id: "7" });
      expect([unknown.status, unknown.body.detail]).toEqual([422, "there is no open dialog 7"]);
      expect((await session.act("dialog", { op: "dismiss", prompt_text: "x" })).status).toBe(422);
      const answered = await session.act("dialog", { op: "accept", prompt_text: "Grace" });
      expect(answered.body.result).toEqual(dialog);
      expect(await openDialogs(session)).toEqual([]);
      expect((await session.state()).dialogs).toEqual([]);
      const none = await session.act("dialog", { op: "accept" });
      expect([none.status, none.body.detail]).toEqual([422, "no dialog is open"]);
    });
  }, 180_000);

  test("a click that opens one is done and tells of it; the page goes on with the answer", async () => {
    await withSession({ url: `${rig.site.origin}/buttons` }, async (session) => {
      for (const [op, answer] of [
        ["accept", true],
        ["dismiss", false],
      ] as const) {
        const clicked = await session.act("click", { selector: "button" });
        expect(clicked.status).toBe(200);
        expect(clicked.body.result.dialog).toMatchObject({
          type: "confirm",
          message: "Delete it?",
        });
        expect((await session.act("dialog", { op })).status).toBe(200);
        expect((await session.act("evaluate", { code: "answer" })).body.result).toBe(answer);
      }
    });
  }, 180_000);

  test("a session opens on a page that asks before it has loaded", async () => {
    await withSession({ url: `${rig.site.origin}/loads` }, async (session) => {
      const [dialog] = (await session.state()).dialogs;
      expect(dialog?.message).toBe("before it has loaded");
      await session.act("dialog", { op: "accept" });
      expect((await session.act("text", { selector: "p" })).body.result).toBe("after");
    });
  }, 180_000);

  test("a page that asks whether it may be left may be left by an action; a loop is got out of", async () => {
    await withSession({ url: `${rig.site.origin}/leaves` }, async (session) => {
      await session.act("click", { selector: "p" });
      const gone = await session.act("navigate", { url: `${rig.site.origin}/second` });
      expect([gone.status, gone.body.title]).toEqual([200, "Second"]);
      const looping = await session.act("evaluate", { code: "for (;;) alert('again')" });
      expect(looping.body.error.name).toBe("DialogOpen");
      expect((await session.act("tab", { op: "new" })).status).toBe(200);
      expect((await session.act("tab", { op: "close", index: 0 })).status).toBe(200);
      expect((await session.act("evaluate", { code: "1 + 1" })).body.result).toBe(2);
    });
  }, 180_000);

  test.each([
    ["accept", true],
    ["dismiss", false],
  ])(
    "dialog_policy %s answers at once",
    async (dialog_policy, answer) => {
      await withSession({ url: `${rig.site.origin}/`, dialog_policy }, async (session) => {
        const { body } = await session.act("evaluate", {
          code: "[confirm('?'), prompt('?', 'a')]",
        });
        expect(body.result).toEqual([answer, answer ? "a" : null]);
      });
    },
    180_000,
  );
});

test("a loop of dialogs that are answered at once ends with its tab; the session goes on", async () => {
  await withSession({ url: `${rig.site.origin}/`, dialog_policy: "dismiss" }, async (session) => {
    const looping = await session.act("evaluate", { code: "for (;;) alert('again')" });
    expect(looping.status).toBe(422);
    expect((await session.act("evaluate", { code: "1 + 1" })).body.result).toBe(2);
  });
}, 180_000);

describe("between a client and a session", () => {
  test("a client that leaves its dialog open leaves it to the session", async () => {
    await withSession({ url: `${rig.site.origin}/` }, async (session) => {
      const browser = await chromium.connectOverCDP(session.cdp_url);
      const [page] = browser.contexts()[0]?.pages() ?? [];
      const asked = page?.waitForEvent("dialog");
      void page?.evaluate("globalThis.answer = confirm('Mine?')").catch(() => {});
      await asked;
      const held = await firstDialog(session);
      expect(held).toMatchObject({ message: "Mine?", closes_at: null });
      await browser.close();
      const left = await until("the session's own dialog", 60_000, async () =>
        (await openDialogs(session)).find(({ closes_at }) => closes_at !== null),
      );
      expect(left.message).toBe("Mine?");
      await session.act("dialog", { op: "accept" });
      expect((await session.act("evaluate", { code: "answer" })).body.result).toBe(true);
    });
  }, 180_000);

  test("a dialog that was open before the client came is still the session's", async () => {
    await withSession({ url: `${rig.site.origin}/` }, async (session) => {
      await session.act("evaluate", { code: "answer = confirm('Before?')" });
      const client = new WebSocket(session.cdp_url);
      await new Promise((resolve) => {
        client.onopen = resolve;
      });
      const [dialog] = await openDialogs(session);
      expect(dialog?.closes_at).not.toBeNull();
      await session.act("dialog", { op: "accept" });
      expect((await session.act("evaluate", { code: "answer" })).body.result).toBe(true);
      client.close();
    });
  }, 180_000);
});

test("a person at the viewer answers the dialog that Chromium shows", async () => {
  const visible = await startSessionFleet({ headless: false });
  try {
    const session = await visible.open({ url: `${rig.site.origin}/` });
    const viewer = await connectRfb(`${session.url.replace(/^http/, "ws")}/novnc/websockify`);
    const asked = await session.act("evaluate", { code: "answer = confirm('Shall I?')" });
    expect(asked.body.error.name).toBe("DialogOpen");
    await until("the answer of the viewer's Enter", 60_000, async () => {
      viewer.press("Enter");
      return (await openDialogs(session)).length === 0;
    });
    expect((await session.act("evaluate", { code: "answer" })).body.result).toBe(true);
    await viewer.close();
    await session.end();
  } finally {
    await visible.stop();
  }
}, 180_000);
