import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import type { Figures } from "#shared/protocol/schema/figures.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";
import { PROGRAM, startProgram } from "#test/support/rigs/program.ts";
import { type UiRig, uiRig } from "#test/support/rigs/ui-rig.ts";
import { jobRow } from "#test/support/servers/db.ts";
import { lanePorts } from "#test/support/servers/ports.ts";

/** The first page: what runs, what failed and why, and on a new installation the first steps (rules/web-app#home). */

setDefaultTimeout(180_000);

const HOUR_MS = 3_600_000;
/** A live picture is asked for from the first moment of a job on, and its browser may not be able to give one yet. */
const EARLY_PICTURE = /status of 503 .*\/preview\.jpg$/;

let rig: UiRig;
let hub: TestHub;
beforeAll(async () => {
  rig = await uiRig();
  hub = await startTestHub({ alone: true });
  await fill(hub);
});
afterAll(() => hub.close());

/** A day of captures: one host that asks for a login, one that fails now and then, one that is well. */
async function fill({ ctx: { db, clock } }: TestHub): Promise<void> {
  const now = clock.now();
  for (let i = 0; i < 60; i += 1) {
    const host = ["asks.test", "fails.test", "well.test"][i % 3] ?? "";
    const url = `https://${host}:8443/${i}`;
    const created_at = now - (60 - i) * 20 * 60_000;
    const failed = host === "fails.test" && i % 2 === 0;
    const row = jobRow({
      job_id: `home${String(i).padStart(6, "0")}`,
      host,
      url,
      created_at,
      started_at: created_at,
      finished_at: created_at + 4_000,
      title: `Page ${i}`,
      status: failed ? "failed" : "completed",
      http_status: i % 9 === 2 ? 500 : 200,
      error: failed ? "no such host" : null,
      asset_bytes: 1_000_000,
      asset_count: 3,
      final_url: host === "asks.test" ? `https://${host}/signin` : url,
    });
    await db.jobs.insert(row);
  }
}

const card = (page: Page, name: string | RegExp) => page.getByRole("region", { name });

test("Home says what is broken, why and what helps (rules/web-app#home)", async () => {
  await using ui = await rig.open("/ui/home", { url: hub.url });
  const problems = card(ui.page, "Needs attention");
  const login = problems.getByRole("listitem").filter({ hasText: "asks.test asks for a login" });
  await login.getByText("15 of the last 15 captures ended on its sign-in page").waitFor();
  await login.getByText(/^since /).waitFor();
  await login.getByRole("button", { name: "Take over" }).waitFor();
  await problems.getByText("No browser worker is connected").waitFor();
  const hosts = card(ui.page, "Hosts with trouble");
  expect(await hosts.getByRole("listitem").first().textContent()).toContain("asks.test0 %");
  await ui.judge();
});

test("captures are counted by what became of them, and each count leads to its captures (rules/web-app#home)", async () => {
  await using ui = await rig.open("/ui/home", { url: hub.url });
  const { page } = ui;
  const chart = card(page, "Captures per hour");
  await chart.getByRole("img", { name: "Captures per hour by result" }).locator("canvas").waitFor();
  await chart.getByText("43 completed").waitFor();
  await chart.getByText("7 with an HTTP error").waitFor();
  await chart.getByText("10 failed").click();
  await page.waitForURL("**/ui/*?*result=failed*");
  await page.getByText("no such host").first().waitFor();
  expect(new URL(page.url()).searchParams.get("since")).toBeTruthy();
  await ui.judge();
});

test("the range is in the address, and the keyboard chooses a bar and lists its captures (rules/web-app#home)", async () => {
  await using ui = await rig.open("/ui/home?range=6h", { url: hub.url });
  const { page } = ui;
  await page.getByRole("heading", { name: "Captures per 15 minutes" }).waitFor();
  await page.getByText("1 h", { exact: true }).click();
  await page.waitForURL("**/ui/home?range=1h");
  await page.getByText("24 h", { exact: true }).click();
  await page.waitForURL("**/ui/home");
  const slider = page.getByRole("slider", { name: /^Captures per hour/ });
  await slider.focus();
  await slider.press("ArrowLeft");
  await slider.press("ArrowLeft");
  expect(await slider.getAttribute("aria-valuetext")).toMatch(/: \d+ completed, \d+ with an HTTP/);
  await slider.press("Enter");
  await page.waitForURL("**since=*");
  const { searchParams } = new URL(page.url());
  const [since, until_] = ["since", "until"].map((name) => searchParams.get(name) ?? "");
  expect(Date.parse(until_ ?? "") - Date.parse(since ?? "")).toBe(HOUR_MS - 1);
});

test("the newest captures are pictures with host and port, what is kept has its room, and a phone shows it all", async () => {
  await using ui = await rig.open("/ui/home", {
    url: hub.url,
    width: 390,
    height: 844,
    colors: "dark",
  });
  const { page } = ui;
  const latest = card(page, "Latest captures");
  const first = latest.getByRole("listitem").first();
  await first.getByText("Page 59").waitFor();
  await first.getByText("well.test:8443").waitFor();
  await first.getByText("4.0 s").waitFor();
  expect(await latest.getByRole("listitem").count()).toBe(6);
  await card(page, "Storage").getByText("Bodies 60.0 MB").waitFor();
  const wide = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
  expect(wide).toBeLessThanOrEqual(0);
  await ui.judge();
  await first.getByRole("link").click();
  await page.waitForURL("**/home000059*");
});

test("a worker that is set aside is made active from Home (rules/web-app#home)", async () => {
  await using other = await startFilled();
  const worker = await other.hub.worker({ worker_id: "home-1" });
  await other.hub.call("POST", "/workers/home-1/status", { status: "standby" });
  await using ui = await rig.open("/ui/home", { url: other.hub.url });
  await ui.page.getByRole("button", { name: "Make home-1 active" }).click();
  await until("an active worker", 60_000, async () => {
    const { body } = await other.hub.call("GET", "/workers/home-1");
    return body.status === "active";
  });
  await card(ui.page, "Running now").getByText("0 of 1 lanes").waitFor();
  expect(worker).toBeDefined();
});

async function startFilled() {
  const made = await startTestHub({ alone: true });
  await fill(made);
  return { hub: made, [Symbol.asyncDispose]: () => made.close() };
}

test("a control plane's Home has the pipeline alone (rules/web-app#home)", async () => {
  const control = await startTestHub({ alone: true, mode: "control" });
  try {
    const argv = { argv: ["true"] };
    await control.call("POST", "/api/v1/workloads", {
      slug: "home-only",
      executor_type: "command",
      executor_config: argv,
    });
    await using ui = await rig.open("/ui/home", { url: control.url });
    await card(ui.page, "Workloads").getByText("home-only").waitFor();
    await ui.judge();
  } finally {
    await control.close();
  }
});

interface Opened {
  sessions: { session_id: string }[];
}

/** Development mode as somebody starts it for the first time. */
async function startFresh() {
  const dir = mkdtempSync(join(tmpdir(), "flotilla-first-"));
  const flags = ["--port=0", "--lanes=1", "--headless-lanes=0", `--data-dir=${join(dir, "data")}`];
  const dev = startProgram([...PROGRAM, "dev", ...flags], {
    cwd: dir,
    env: { FLOTILLA_TEST: dir, ...lanePorts() },
  });
  const url = await until(
    "the banner",
    120_000,
    () => /http:\/\/127\.0\.0\.1:\d+/.exec(dev.stdout)?.[0],
  );
  return {
    url,
    [Symbol.asyncDispose]: async () => {
      // It would be waited for.
      const { sessions } = (await (await fetch(`${url}/sessions`)).json()) as Opened;
      for (const { session_id } of sessions)
        await fetch(`${url}/sessions/${session_id}`, { method: "DELETE" });
      dev.kill("SIGTERM");
      await dev.exited;
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

test("on a new installation four steps are done in place, and then Home is there (rules/web-app#first-run)", async () => {
  await using fresh = await startFresh();
  await until("a warm lane", 120_000, async () => {
    const response = await fetch(`${fresh.url}/figures`);
    const { lanes } = (await response.json()) as { lanes: { free: number } };
    return lanes.free === 1;
  });
  await using ui = await rig.open("/", { url: fresh.url });
  const { page } = ui;
  await page.getByRole("heading", { name: "See your first page in ten seconds" }).waitFor();
  // Nothing is sent without an address.
  await page.getByRole("button", { name: "Capture", exact: true }).click();
  await page.getByText("An address is needed").waitFor();
  await page.getByRole("textbox", { name: "Address of the page" }).fill(`${rig.site}/page`);
  await ui.judge(EARLY_PICTURE);
  await page.getByRole("button", { name: "Capture", exact: true }).click();
  await page.getByRole("link", { name: "Open the capture" }).waitFor();
  await page.getByAltText("The page at the end of its capture").waitFor();

  await page.getByRole("button", { name: "Next: open a live session" }).click();
  await page.getByRole("button", { name: "Open session" }).click();
  await page.frameLocator("iframe").getByText("Connected").first().waitFor();

  await page.getByRole("button", { name: "Next: run ten tasks" }).click();
  await page.getByRole("button", { name: "Run ten tasks" }).click();
  await page.getByText("10 of 10 succeeded").waitFor();

  // The page is left and comes back to the step that is open.
  await page.reload();
  await page.getByRole("textbox", { name: "Endpoint" }).waitFor();
  await page.getByRole("textbox", { name: "Endpoint" }).fill("http://127.0.0.1:9/v1");
  await page.getByRole("textbox", { name: "Model" }).fill("Tiny:1b");
  await page.getByRole("button", { name: "Test and add" }).click();
  await page.getByText(/The engine did not answer/).waitFor();
  await ui.judge(EARLY_PICTURE);
  await page.getByRole("button", { name: "Add it anyway" }).click();
  await page.getByText("The engine tiny-1b was added.").waitFor();
  await page.getByRole("button", { name: "Show Home" }).first().click();
  await card(page, "Latest captures")
    .getByText(/Test site/)
    .waitFor();
  await page.reload();
  await card(page, "Task queue").getByText("first-tasks").waitFor();
});

test("steps that are left out stay left out, and the path can be hidden (rules/web-app#first-run)", async () => {
  const empty = await startTestHub({ alone: true });
  try {
    await using ui = await rig.open("/ui/home", { url: empty.url });
    const { page } = ui;
    await page.getByText("No browser worker is connected yet.").waitFor();
    await page.getByRole("button", { name: "Leave this step out" }).click();
    await page.getByRole("button", { name: "Open session" }).waitFor();
    await page.reload();
    await page.getByText("Left out").waitFor();
    await page.getByRole("button", { name: "Open session" }).waitFor();
    await page.getByRole("button", { name: "Hide these steps" }).click();
    await page.getByText("Nothing was captured yet.").waitFor();
    await page.reload();
    await page.getByText("Nothing was captured yet.").waitFor();
    await ui.judge();
  } finally {
    await empty.close();
  }
});

test("a step stays open with what came of it, also when its own answer is late (rules/web-app#first-run)", async () => {
  const empty = await startTestHub({ alone: true });
  try {
    await using ui = await rig.open("/ui/home", { url: empty.url });
    const { page } = ui;
    for (const next of ["Open session", "Run ten tasks", "Test and add"]) {
      await page.getByRole("button", { name: "Leave this step out" }).click();
      await page.getByRole("button", { name: next }).waitFor();
    }
    // Nobody has chosen the step since then: it is open because it is the next one.
    await page.reload();
    await page.getByRole("textbox", { name: "Endpoint" }).fill("http://127.0.0.1:9/v1");
    await page.getByRole("textbox", { name: "Model" }).fill("late");
    await page.getByRole("button", { name: "Test and add" }).click();
    // The engine is there, and the page learns it from the figures first: a window that is looked at again reads them.
    const read = Promise.withResolvers<void>();
    await page.route("**/engines/late", async (route) => {
      const response = await route.fetch();
      await until("figures with the engine", 60_000, async () => {
        const { begun } = (await (await fetch(`${empty.url}/figures`)).json()) as Figures;
        return begun.engine;
      });
      await page.evaluate("window.dispatchEvent(new Event('visibilitychange'))");
      await read.promise;
      await route.fulfill({ response });
    });
    await page.getByRole("button", { name: "Add it anyway" }).click();
    await page.getByRole("heading", { name: "That was all of it" }).waitFor();
    read.resolve();
    await page.getByText("The engine late was added.").waitFor();
    await page.getByRole("button", { name: "Show Home" }).first().click();
    await card(page, "Latest captures").waitFor();
  } finally {
    await empty.close();
  }
});
