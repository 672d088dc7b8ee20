import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";
import { PROGRAM, startProgram } from "#test/support/rigs/program.ts";
import { type UiRig, uiRig } from "#test/support/rigs/ui-rig.ts";
import { freePort } from "#test/support/servers/ports.ts";

/** The app says no more than what is known (rules/web-app#what-is-known). */

setDefaultTimeout(180_000);

let rig: UiRig;
let hub: TestHub;
beforeAll(async () => {
  rig = await uiRig();
  hub = await startTestHub({ alone: true });
});
afterAll(() => hub.close());

test("a page that answered with an error is not green, and nothing captured is no percentage", async () => {
  const worker = await hub.worker();
  const { job_id } = (await hub.call("POST", "/jobs", { url: "http://127.0.0.1:8620/boom" })).body;
  const counts = { seen: 0, captured: 0, partial: 0, lost: 0, skipped: 0 };
  const nothing = { ...counts, ratio: 1, reasons: {}, method: "durable" as const };
  worker.finish(await worker.assigned.next(), { http_status: 500, capture: nothing });
  await hub.signals.next("job finished", { job_id });
  await using ui = await rig.open("/ui/captures", { url: hub.url });
  const row = ui.page.getByRole("table", { name: "Jobs" }).locator(".row.body");
  await row.getByText("completed · 500").waitFor();
  expect(await row.getByText("100 %").count()).toBe(0);
  // Two servers of one machine differ in their ports alone.
  expect(await row.getByText("127.0.0.1:8620", { exact: true }).count()).toBe(1);
  await row.click();
  expect(await ui.page.getByText("100 %").count()).toBe(0);
  await ui.page.getByRole("link", { name: "Open capture" }).click();
  const band = ui.page.getByRole("region", { name: "What became of it" });
  await band.getByText("The page answered 500.").waitFor();
  await ui.page.locator("header").getByText("completed · 500").waitFor();
  expect(await ui.page.getByText("100 %").count()).toBe(0);
  // This worker stores no HAR.
  await ui.judge(/404/);
});

test("while the hub is away its pages say so, keep what they show, and go on by themselves (rules/web-app#away)", async () => {
  const dir = mkdtempSync(join(tmpdir(), "flotilla-away-"));
  const port = freePort();
  const url = `http://127.0.0.1:${port}`;
  const argv = [...PROGRAM, "hub", `--port=${port}`, `--data-dir=${join(dir, "data")}`];
  const start = () => startProgram(argv, { cwd: dir, env: { FLOTILLA_TEST: dir } });
  let program = start();
  try {
    await program.says("hub started");
    const response = await fetch(`${url}/jobs`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ url: "http://192.0.2.7/kept", options: { mode: "rerun", code: "1" } }),
    });
    expect(await response.json()).toMatchObject({ status: "queued" });
    await using ui = await rig.open("/ui/captures", { url });
    const { page } = ui;
    const kept = page.getByRole("table", { name: "Jobs" }).getByText("/kept");
    await kept.waitFor();
    program.kill("SIGKILL");
    await program.exited;
    const away = page.getByText(/^Offline since \d\d:\d\d\./);
    await away.waitFor();
    await page
      .getByRole("status")
      .getByText(/^Offline since \d\d:\d\d$/)
      .waitFor();
    expect(await kept.count()).toBe(1);
    expect(await page.getByText("cannot be reached").count()).toBe(0);

    // The file of this page has not been read yet.
    await page.getByRole("link", { name: "System" }).click();
    await page.getByRole("link", { name: "Audit" }).click();
    await page.getByText("This part of the page comes as soon as the server answers.").waitFor();
    program = start();
    await page.getByRole("heading", { name: "Audit" }).waitFor();
    await away.waitFor({ state: "detached" });
    expect(ui.complaints(/net::ERR_|dynamically imported/)).toEqual([]);
  } finally {
    program.kill("SIGKILL");
    await program.exited;
    rmSync(dir, { recursive: true, force: true });
  }
});

test("a server of another version than the page's is told of, with a button that reloads it (rules/web-app#away)", async () => {
  await using ui = await rig.open("/ui/system/audit", { url: hub.url });
  const { page } = ui;
  await page.route("**/health", async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), version: "next" } });
  });
  await page.reload();
  await page.getByText("Flotilla was updated.").waitFor();
  await page.unrouteAll();
  await page.getByRole("button", { name: "Reload" }).click();
  await page.getByRole("heading", { name: "Audit" }).waitFor();
  await page.getByText("Flotilla was updated.").waitFor({ state: "detached" });
  await ui.judge();
});
