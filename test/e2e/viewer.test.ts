import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Browser, chromium, type Page } from "playwright-core";
import { viewerPath } from "#hub/fleet/sessions/registry.ts";
import { connectRfb } from "#test/support/clients/rfb-client.ts";
import { startTypePage, type TypePage } from "#test/support/clients/type-page.ts";
import { CHROMIUM_FLAGS, chromiumPath } from "#test/support/rigs/chromium.ts";
import { type RigSession, startViewerRig, type ViewerRig } from "#test/support/rigs/viewer-rig.ts";

/** A person at the hub's viewer page, in a Chromium of their own (rules/viewer#viewer-page). */

let rig: ViewerRig;
let site: TypePage;
let person: Browser;
/** Another origin, with a page that embeds whatever it is told to. */
let elsewhere: ReturnType<typeof Bun.serve>;

beforeAll(async () => {
  rig = await startViewerRig();
  site = startTypePage();
  person = await chromium.launch({ executablePath: chromiumPath(), args: [...CHROMIUM_FLAGS] });
  elsewhere = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: (request) => {
      const src = new URL(request.url).searchParams.get("src");
      return new Response(`<iframe src="${src}" width="900" height="560"></iframe>`, {
        headers: { "Content-Type": "text/html" },
      });
    },
  });
}, 180_000);

afterAll(async () => {
  await person?.close();
  await rig?.close();
  await site?.stop();
  await elsewhere?.stop(true);
}, 180_000);

/** A session whose page is the fixture; the lane has no other. */
async function openSession(headless: boolean): Promise<RigSession> {
  site.events.clear();
  const session = await rig.open({ headless });
  const { connection } = session.browser;
  const { targetInfos } = await connection.root.send("Target.getTargets");
  const tab = targetInfos.find((t) => t.type === "page");
  const { sessionId } = await connection.root.send("Target.attachToTarget", {
    targetId: tab?.targetId ?? "",
    flatten: true,
  });
  await connection.session(sessionId)?.send("Page.navigate", { url: site.url });
  await site.events.next((e) => e === "loaded");
  return session;
}

/** What the page of a fresh lane says of itself. */
const OWN_SCREEN = {
  headful: { "screen.width": 1_920, outerWidth: 1_920, outerHeight: 1_080, innerWidth: 1_920 },
  headless: { innerWidth: 1_920 },
};

/** Waits until `what` of the session's page is `size`; the page looks at each of its frames. */
async function pageSees(
  session: RigSession,
  what: string,
  size: number | undefined,
  kind: "headful" | "headless" | "both",
): Promise<void> {
  // A page without a display is given its size by itself, without a window.
  if (kind === "headless") return;
  const look = `new Promise((seen) => {
    const look = () => (${what} === ${size} ? seen(true) : requestAnimationFrame(look));
    look();
  })`;
  const { connection } = session.browser;
  const { targetInfos } = await connection.root.send("Target.getTargets");
  const tab = targetInfos.find((t) => t.type === "page");
  const { sessionId } = await connection.root.send("Target.attachToTarget", {
    targetId: tab?.targetId ?? "",
    flatten: true,
  });
  const params = { expression: look, awaitPromise: true };
  const target = connection.session(sessionId);
  await target?.send("Runtime.evaluate", params, { timeout_ms: 60_000 }).catch(async (err) => {
    const now = await target.send("Runtime.evaluate", { expression: what });
    throw new Error(`${what} is ${now.result.value}, not ${size}`, { cause: err });
  });
  await connection.root.send("Target.detachFromTarget", { sessionId });
}

async function openViewer(session: RigSession, query: Record<string, string> = {}): Promise<Page> {
  const page = await person.newPage({ viewport: { width: 1000, height: 640 } });
  page.setDefaultTimeout(60_000);
  const url = new URL(viewerPath(session.session_id), rig.hub.url);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  await page.goto(url.href);
  return page;
}

const connected = (page: Page) => page.waitForSelector('body[data-state="connected"]');

/** Frames of the viewer come when it likes. */
const POLL = { polling: 50, timeout: 60_000 };

/** The fixture's yellow is on the screen, beside the middle, where the pointer may be. */
const yellow = (page: Page) =>
  page.waitForFunction(
    `(() => {
    const canvas = document.querySelector("#screen canvas");
    if (!canvas || canvas.width === 0) return false;
    const [r, g, b] = canvas.getContext("2d").getImageData(canvas.width * 0.7, canvas.height * 0.6, 1, 1).data;
    return r > 245 && g > 235 && b < 230;
  })()`,
    undefined,
    POLL,
  );
const canvasSize = (page: Page) =>
  page.evaluate<[number, number]>(
    `(({ width, height }) => [width, height])(document.querySelector("#screen canvas"))`,
  );

/** Where the page begins on the screen: below the browser's own bars, when there are any. */
const TOP = { headful: 88, headless: 0 };

/** A point of the lane's page on the viewer's. */
async function pointAt(page: Page, x: number, y: number) {
  const box = await page.locator("#screen canvas").boundingBox();
  const [width] = await canvasSize(page);
  if (!box) throw new Error("no canvas");
  const scale = box.width / width;
  return [box.x + x * scale, box.y + y * scale] as const;
}

describe.each(["headful", "headless"] as const)(
  "a %s lane in the viewer (rules/viewer#viewer-stream)",
  (kind) => {
    let session: RigSession;
    let page: Page;
    const top = TOP[kind];

    beforeAll(async () => {
      session = await openSession(kind === "headless");
      page = await openViewer(session);
      await connected(page);
    }, 180_000);
    afterAll(async () => {
      await page?.close();
      await session?.end("the test is over");
    }, 180_000);

    test("its name says neither user nor host of the worker", async () => {
      const { session_id } = session;
      const hub = rig.hub.url.replace("http", "ws");
      const screen = await connectRfb(`${hub}/sessions/${session_id}/novnc/websockify`);
      expect(screen.name).toBe("Flotilla");
      await screen.close();
    });

    test("shows the picture of the page", async () => {
      await yellow(page);
      expect(await page.textContent("#status")).toBe("Connected");
    }, 180_000);

    test("clicks, keys and the wheel reach the page", async () => {
      await page.mouse.click(...(await pointAt(page, 100, top + 150)));
      await page.keyboard.type("Hi, Under_1");
      await site.events.next((e) => e === "value Hi, Under_1");
      await page.keyboard.press("ArrowLeft");
      await page.keyboard.press("Backspace");
      await site.events.next((e) => e === "value Hi, Under1");
      await page.keyboard.press("Control+a");
      await page.keyboard.press("Delete");
      await site.events.next((e) => e === "value ");
      await page.mouse.click(...(await pointAt(page, 150, top + 300)));
      await site.events.next((e) => e === "pressed");
      await page.mouse.wheel(0, 100);
      await site.events.next((e) => e === "wheel");
      await page.mouse.wheel(0, -4_000);
    }, 180_000);

    test("text of the paste box is pasted, whatever its script", async () => {
      const pasted = site.events.next((e) => e.includes("Größe 5 € 日本"));
      // X asks the viewer for the text when the page wants it, and Chromium gives a slow selection up: on a busy machine one
      // presses paste again, as a person would.
      for (let tries = 0, done = false; !done; tries += 1) {
        if (tries === 20) throw new Error("the text was never pasted");
        await page.mouse.click(...(await pointAt(page, 100, top + 150)));
        await page.click("#paste");
        await page.fill("#paste-text", "Größe 5 € 日本");
        await page.click('button[name="paste"]');
        expect(await page.isHidden("#paste-box")).toBe(true);
        done = await Promise.race([
          pasted.then(() => true),
          page.waitForTimeout(5_000).then(() => false),
        ]);
      }
    }, 180_000);

    test("resize=remote gives the lane's screen the size of the frame", async () => {
      const remote = await openViewer(session, { resize: "remote" });
      await connected(remote);
      const { width, height } = (await remote.locator("#screen").boundingBox()) ?? {};
      await remote.waitForFunction(
        `document.querySelector("#screen canvas").width === ${width} &&
       document.querySelector("#screen canvas").height === ${height}`,
        undefined,
        POLL,
      );
      await yellow(remote);
      // The browser's window goes along, so that nothing of it is cut off.
      await pageSees(session, "outerWidth", width, kind);
      await pageSees(session, "outerHeight", height, kind);
      // The person at the other viewer stays, and gets the lane's own screen back.
      await remote.close();
      for (const [what, size] of Object.entries(OWN_SCREEN[kind]))
        await pageSees(session, what, size, "both");
      await page.waitForFunction(
        `document.querySelector("#screen canvas")?.width === ${OWN_SCREEN[kind].innerWidth}`,
        undefined,
        POLL,
      );
    }, 180_000);

    test("resize=remote: the one who asked last has the say, and who leaves gives it to the one before", async () => {
      const [first, second] = [600, 700].map((width) => ({ width, height: 500 }));
      const viewers: Page[] = [];
      for (const viewport of [first, second]) {
        const viewer = await openViewer(session, { resize: "remote" });
        await viewer.setViewportSize(viewport as { width: number; height: number });
        await pageSees(session, "innerWidth", viewport?.width, "both");
        viewers.push(viewer);
      }
      await viewers[1]?.close();
      await pageSees(session, "innerWidth", first?.width, "both");
      await viewers[0]?.close();
      await pageSees(session, "innerWidth", OWN_SCREEN[kind].innerWidth, "both");
    }, 180_000);

    test("the next session of a lane has the whole screen, whatever a viewer of the last one left (rules/viewer#size-of-the-screen)", async () => {
      const remote = await openViewer(session, { resize: "remote" });
      await connected(remote);
      await pageSees(session, "innerWidth", 1_000, "both");
      // Ended under the viewer, who has no chance to leave before.
      await session.end("its owner closed it");
      session = await openSession(kind === "headless");
      for (const [what, size] of Object.entries(OWN_SCREEN[kind]))
        await pageSees(session, what, size, "both");
      await remote.close();
    }, 180_000);

    test("view_only takes no input, also from a page that would send it", async () => {
      await session.end("the next test has its own");
      const other = await openSession(kind === "headless");
      const watcher = await openViewer(other, { view_only: "true" });
      await connected(watcher);
      await yellow(watcher);
      expect(await watcher.textContent("#status")).toBe("Connected, view only");
      expect(await watcher.isHidden("#paste")).toBe(true);
      await watcher.mouse.click(...(await pointAt(watcher, 150, top + 300)));
      await watcher.keyboard.type("x");
      // The same from a client that cheats: a socket of its own, with real key and pointer messages.
      const cheat = await cheatingViewer(other, "?view_only=true");
      cheat.click(150, top + 300);
      const honest = await cheatingViewer(other, "");
      honest.click(100, top + 150);
      honest.press(0x7a);
      await site.events.next((e) => e === "value z");
      expect(site.events.all).not.toContain("pressed");
      expect(site.events.all.filter((e) => e.startsWith("value"))).toEqual(["value z"]);
      cheat.close();
      honest.close();
      await watcher.close();
      await other.end("the test is over");
    }, 180_000);
  },
);

/** RFB by hand over the hub's websocket. */
async function cheatingViewer(session: RigSession, query: string) {
  const url = `${session.url.replace(/^http/, "ws")}/novnc/websockify${query}`;
  const socket = new WebSocket(url, ["binary"]);
  socket.binaryType = "arraybuffer";
  const opened = Promise.withResolvers<void>();
  const replies = [Buffer.from("RFB 003.008\n"), Buffer.from([1]), Buffer.from([1])];
  socket.onmessage = () => {
    const reply = replies.shift();
    if (reply) socket.send(reply);
    else opened.resolve();
  };
  await opened.promise;
  const pointer = (mask: number, x: number, y: number) =>
    socket.send(Buffer.from([5, mask, x >> 8, x & 255, y >> 8, y & 255]));
  return {
    click: (x: number, y: number) => {
      for (const mask of [0, 1, 0]) pointer(mask, x, y);
    },
    press: (keysym: number) => {
      for (const down of [1, 0]) {
        const bytes = Buffer.alloc(8);
        bytes.set([4, down]);
        bytes.writeUInt32BE(keysym, 4);
        socket.send(bytes);
      }
    },
    close: () => socket.close(),
  };
}

describe("one session, from embedding to its end", () => {
  let session: RigSession;
  beforeAll(async () => {
    session = await openSession(false);
  }, 180_000);

  test("the viewer works in an iframe of another origin (rules/http#frames)", async () => {
    const page = await person.newPage();
    page.setDefaultTimeout(60_000);
    const src = rig.hub.url.replace("127.0.0.1", "localhost") + viewerPath(session.session_id);
    await page.goto(`http://127.0.0.1:${elsewhere.port}/?src=${encodeURIComponent(src)}`);
    const frame = page.frames().find((f) => f.url().includes("/novnc/"));
    await frame?.waitForSelector('body[data-state="connected"]');
    expect(frame?.url()).toBe(src);
    await page.close();
  }, 180_000);

  test("fifty viewers come to one lane at once, and all see its own screen (rules/viewer#any-number-of-viewers)", async () => {
    const viewers = await Promise.all(
      Array.from({ length: 50 }, () => cheatingViewer(session, "?view_only=true")),
    );
    for (const viewer of viewers) viewer.close();
    expect(rig.log.filter((line) => String(line.message).includes("VNC does not answer"))).toEqual(
      [],
    );
  }, 180_000);

  test("reconnect=1: a viewer that is cut off says when it tries again, and connects (rules/viewer#viewer-parameters)", async () => {
    const page = await openViewer(session);
    await connected(page);
    await page.evaluate(`
      window.said = [];
      const hear = () => said.push(document.body.dataset.state + ": " + document.querySelector("#status").textContent);
      new MutationObserver(hear).observe(document.body, { attributes: true, childList: true, subtree: true });
    `);
    for (const cut of [...rig.hub.ctx.streams]) await cut();
    // It says so for a second only.
    await page.waitForFunction("said.some((text) => /^waiting: .*Trying again in/.test(text))");
    await connected(page);
    await page.close();
  }, 180_000);

  test("autoconnect and reconnect are off unless they are asked for (rules/viewer#viewer-parameters)", async () => {
    const page = await openViewer(session, { autoconnect: "0", reconnect: "0" });
    await page.waitForSelector('body[data-state="idle"]');
    await page.click("#connect");
    await connected(page);
    for (const cut of [...rig.hub.ctx.streams]) await cut();
    await page.waitForSelector('body[data-state="idle"]');
    expect(await page.textContent("#status")).toBe(
      "Disconnected: hub is restarting; connect again",
    );
    await page.close();
  }, 180_000);

  test("an ended session is told with its reason, not asked for again, and is 404 (rules/viewer#end-of-a-viewer)", async () => {
    const page = await openViewer(session);
    await connected(page);
    const asked: string[] = [];
    page.on("request", (r) => asked.push(r.url()));
    await session.end("the owner closed it");
    await page.waitForSelector('body[data-state="ended"]');
    expect(await page.textContent("#status")).toBe("Session ended: the owner closed it");
    const answer = await rig.hub.call("GET", viewerPath(session.session_id));
    expect([answer.status, answer.body]).toEqual([404, { detail: "session not found" }]);
    expect(asked).toEqual([]);
    await page.close();
  }, 180_000);
});
