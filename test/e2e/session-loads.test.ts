import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  setDefaultTimeout,
  test,
} from "bun:test";
import {
  laneWarm,
  type OpenSession,
  type SessionRig,
  startSessionRig,
} from "#test/support/rigs/session-rig.ts";
import type { SiteServer } from "#test/support/servers/site/server.ts";
import { startSessionSite } from "#test/support/servers/site/session-pages.ts";

/**
 * Actions whose page is on its way to a server that never answers, and how their failures are told
 * (rules/session-actions#loads-that-are-too-late, rules/session-actions#failed-actions).
 */

setDefaultTimeout(240_000);

let rig: SessionRig;
let site: SiteServer;
let session: OpenSession;
let never: { same_site: string; other_site: string };

beforeAll(async () => {
  [rig, site] = await Promise.all([startSessionRig(), startSessionSite()]);
  const { port } = new URL(site.origin);
  never = { same_site: `${site.origin}/never`, other_site: `http://other.localhost:${port}/never` };
}, 180_000);
afterAll(async () => {
  await rig.close();
  await site.stop();
}, 180_000);
/** Until then this machine, as busy as it is now, has begun a load, or has found what is in the way. */
let late_ms = 0;
let obstacle_ms = 0;
beforeEach(async () => {
  session = await rig.open({ url: `${site.origin}/second` });
  const began = performance.now();
  await session.get("navigate", { url: `${site.origin}/` });
  const took_ms = Math.ceil(performance.now() - began);
  late_ms = 3_000 + Math.min(20_000, 3 * took_ms);
  obstacle_ms = 1_200 + Math.min(10_000, 3 * took_ms);
});
afterEach(() => session.close());

/** Chromium answers nothing of a page that waits for its next document: these would all run out of time. */
async function expectReadable(title = "Home"): Promise<void> {
  expect(await session.get("evaluate", { code: "document.title" })).toBe(title);
  expect(await session.get<string>("text")).toContain(title);
  expect(await session.get<string>("content")).toContain(`<title>${title}</title>`);
  expect((await session.picture("screenshot", {})).mime).toBe("image/png");
}

async function expectLate(action: string, args: Record<string, unknown>, url: string) {
  const { ok, kind, error } = await session.call(action, args, late_ms);
  expect({ ok, kind }).toEqual({ ok: false, kind: "timeout" });
  expect(error?.message).toContain(`${url} did not answer, so its load was stopped`);
  expect(error?.message).not.toContain("\n");
}

describe("a page that goes to an address that never answers (rules/session-actions#loads-that-are-too-late)", () => {
  for (const to of ["same_site", "other_site"] as const)
    test(`is read as it was after a navigation that ran out of time, ${to}`, async () => {
      await expectLate("navigate", { url: never[to] }, never[to]);
      await expectReadable();
      expect((await session.call("state")).place).toMatchObject({ url: `${site.origin}/` });
    });

  test("is read as it was after a click that led there", async () => {
    await session.get("evaluate", {
      code: `document.querySelector("a").href = ${JSON.stringify(never.other_site)}`,
    });
    await expectLate("click", { selector: "a" }, never.other_site);
    await expectReadable();
  });

  test("is read as it was after going back, forward and reloading", async () => {
    let answers = true;
    const late = new URL("/late", site.origin).href;
    site.on("/late", (_req, res) => {
      if (!answers) return;
      res.writeHead(200, { "content-type": "text/html", "cache-control": "no-store" });
      res.end("<title>Late</title>Late");
    });
    await session.get("navigate", { url: late });
    await session.get("navigate", { url: `${site.origin}/` });
    answers = false;
    await expectLate("back", {}, late);
    await expectReadable();
    answers = true;
    await session.get("back");
    answers = false;
    await expectLate("reload", {}, late);
    await expectReadable("Late");
    await session.get("navigate", { url: `${site.origin}/second` });
    answers = true;
    await session.get("back");
    await session.get("back");
    answers = false;
    await expectLate("forward", {}, late);
    await expectReadable();
  });

  test("is read in a new tab that was to open there, and after a recipe's step", async () => {
    await expectLate("tab", { op: "new", url: never.other_site }, never.other_site);
    expect(await session.get("evaluate", { code: "location.href" })).toBe("about:blank");
    await session.get("tab", { op: "close" });
    const actions = [{ kind: "navigate", url: never.same_site }];
    await expectLate("recipe", { actions }, never.same_site);
    await expectReadable();
  });

  test("a popup that never comes leaves its opener as it was, and a blank tab", async () => {
    const code = `document.querySelector("a").onclick = () => open(${JSON.stringify(never.same_site)}) && false;\nreturn 1`;
    await session.get("evaluate", { code });
    const args = { selector: "a", wait_for: "popup" };
    const { ok, kind, error } = await session.call("click", args, late_ms);
    expect({ ok, kind }).toEqual({ ok: false, kind: "timeout" });
    expect(error?.message).toContain("did not answer, so its load was stopped");
    expect(await session.get("evaluate", { code: "document.title" })).toBe("Home");
    expect((await session.call("state")).place?.tabs).toBe(2);
    await session.get("tab", { op: "select", index: 1 });
    expect(await session.get("evaluate", { code: "location.href" })).toBe("about:blank");
  });

  test("an action that only looks says what its tab waits for, and stops nothing", async () => {
    const asked = Promise.withResolvers<() => void>();
    site.on("/slow", (_req, res) =>
      asked.resolve(() =>
        res.writeHead(200, { "content-type": "text/html" }).end("<title>Slow</title><h1>Here</h1>"),
      ),
    );
    await session.get("evaluate", { code: `setTimeout(() => { location.href = "/slow" })` });
    const answer = await asked.promise;
    const { kind, error } = await session.call("text", {}, 300);
    expect({ kind, message: error?.message }).toEqual({
      kind: "timeout",
      message: `text did not end within 300 ms: the tab waits for ${site.origin}/slow to answer`,
    });
    answer();
    await session.get("wait", { selector: "text=Here" });
    expect(await session.get("evaluate", { code: "document.title" })).toBe("Slow");
  });
});

describe("failures are one sentence (rules/session-actions#failed-actions)", () => {
  const messageOf = async (action: string, args: Record<string, unknown>) => {
    const { ok, error, kind } = await session.call(action, args, obstacle_ms);
    expect(ok).toBe(false);
    expect(JSON.stringify(error)).not.toMatch(/call log|\\u001b/i);
    return `${kind}: ${error?.message}`;
  };

  test("a picture of an element that has no size is refused at once", async () => {
    await session.get("evaluate", {
      code: `document.body.insertAdjacentHTML("beforeend", "<i id=none></i><p id=hidden hidden>x</p>")`,
    });
    for (const selector of ["#none", "#hidden"])
      expect(await messageOf("screenshot", { selector })).toBe(
        `page: ${selector} is hidden or has no size: there is nothing to take a screenshot of`,
      );
  });

  test("what is in the way of an action is named, without Playwright's log of it", async () => {
    await session.get("evaluate", {
      code: `document.body.insertAdjacentHTML("beforeend", '<button id=off disabled>x</button><input id=hid type=checkbox hidden>' +
        '<input id=text hidden><div id=cover style="position: fixed; inset: 0"></div>')`,
    });
    const cases: [string, Record<string, unknown>, string][] = [
      ["click", { selector: "a" }, "intercepts pointer events"],
      ["click", { selector: "#off" }, "element is not enabled"],
      ["fill", { selector: "#text", text: "a secret" }, "element is not visible"],
      ["hover", { selector: "#none" }, "waiting for locator('#none')"],
      ["wait", { selector: "#none" }, "waiting for locator('#none') to be visible"],
      ["check", { selector: "#hid" }, "element is not visible"],
      ["drag_and_drop", { source: "#none", target: "a" }, "waiting for locator('#none')"],
      ["select_option", { selector: "#none", values: ["a"] }, "waiting for locator('#none')"],
      ["set_input_files", { selector: "#none", files: [] }, "waiting for locator('#none')"],
      ["press", { selector: "#none", key: "a" }, "waiting for locator('#none')"],
      ["scroll", { selector: "#none" }, "waiting for locator('#none')"],
      ["evaluate", { frame: "#none", code: "1" }, "waiting for locator('#none')"],
    ];
    for (const [action, args, why] of cases) {
      const message = await messageOf(action, args);
      // What is left of the time when the wait itself begins.
      const [, waited_ms] = /^timeout: Timeout (\d+)ms exceeded: /.exec(message) ?? [];
      expect(Number(waited_ms)).toBeGreaterThan(0);
      expect(Number(waited_ms)).toBeLessThanOrEqual(obstacle_ms);
      expect(message).toContain(why);
      expect(message).not.toContain("secret");
    }
    expect(await messageOf("navigate", { url: "http://127.0.0.1:1/" })).toBe(
      "page: net::ERR_UNSAFE_PORT at http://127.0.0.1:1/",
    );
    expect(await messageOf("navigate", { url: "http://localhost:2/" })).toBe(
      "page: net::ERR_CONNECTION_REFUSED at http://localhost:2/",
    );
  });

  test("a session whose URL cannot be opened is refused with what happened and what to try", async () => {
    await session.close();
    const warm = laneWarm(rig.peer, 0);
    const refused = await rig.open({ url: "http://localhost:2/" }).catch(String);
    expect(refused).toBe(
      "Error: page: could not open http://localhost:2/: localhost:2 refused the connection: check the port and that the server is running (net::ERR_CONNECTION_REFUSED)",
    );
    await warm;
    session = await rig.open();
  });
});
