import { beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { Page } from "playwright-core";
import type { Job } from "#shared/protocol/schema/job.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { startTestHub } from "#test/support/rigs/hub.ts";
import { type UiRig, uiRig } from "#test/support/rigs/ui-rig.ts";
import { uiTasks } from "#test/support/rigs/ui-tasks.ts";

/** Ctrl K: what the hub knows is found by a few words, and things are done with it (rules/web-app#ctrl-k). */

setDefaultTimeout(180_000);

let rig: UiRig;
let worker_id = "";
beforeAll(async () => {
  rig = await uiRig();
  const { workers } = await rig.api<{ workers: { worker_id: string }[] }>("GET", "/workers");
  worker_id = workers[0]?.worker_id ?? "";
  const tasks = uiTasks(rig);
  await tasks.make("okapi-work", "exit 7");
  await tasks.submit("okapi-work", "okapi-task-1");
  await tasks.settled("okapi-work", { failed: 1 });
});

const capture = async (name: string): Promise<Job> => {
  const url = `${rig.site}/page?palette=${name}`;
  const { job_id } = await rig.api<Job>("POST", "/jobs", { url, options: { idle_seconds: 0.2 } });
  await until(`job of ${name}`, 120_000, async () => {
    const { status } = await rig.api<Job>("GET", `/jobs/${job_id}`);
    return status === "completed" || status === "failed";
  });
  return rig.api<Job>("GET", `/jobs/${job_id}`);
};

const box = (page: Page) => page.getByRole("textbox", { name: "Find or do" });
const entry = (page: Page, name: RegExp) => page.getByRole("button", { name });
async function open(page: Page): Promise<void> {
  await page.getByRole("heading", { level: 1 }).waitFor();
  await page.keyboard.press("Control+K");
  await box(page).waitFor();
}
/** Presses Enter on the entry, reached by the arrow keys. */
async function choose(page: Page, name: RegExp): Promise<void> {
  const wanted = entry(page, name).first();
  await wanted.waitFor();
  for (let n = 0; n < 30; n += 1) {
    if ((await wanted.getAttribute("data-selected")) !== null) break;
    await page.keyboard.press("ArrowDown");
  }
  expect(await wanted.getAttribute("data-selected")).not.toBeNull();
  await page.keyboard.press("Enter");
}

test("a capture is found by words of its title and address, by the keyboard alone", async () => {
  const { job_id, title } = await capture("zanzibar");
  expect(title).toBe("Test site");
  await using ui = await rig.open("/ui/home");
  const { page } = ui;
  await open(page);
  await page.keyboard.type("zanzibar site");
  await choose(page, /Test site.*Capture/);
  await page.waitForURL(`**/ui/captures/${job_id}`);
  await open(page);
  await entry(page, /Test site.*zanzibar/).waitFor();
  await ui.judge();
});

test("an action that ends something is asked for once more; going back does nothing", async () => {
  await using ui = await rig.open("/ui/home");
  const { page } = ui;
  const isEnabled = async () =>
    (await rig.api<{ enabled: boolean }>("GET", "/api/v1/workloads/okapi-work")).enabled;
  await open(page);
  await page.keyboard.type("pause okapi-work");
  await choose(page, /Pause workload okapi-work/);
  await page.getByText("Its tasks wait until it is resumed").waitFor();
  await ui.judge();
  await choose(page, /No, go back/);
  await entry(page, /Pause workload okapi-work/).waitFor();
  expect(await isEnabled()).toBe(true);
  await choose(page, /Pause workload okapi-work/);
  await choose(page, /^Pause workload Pause okapi-work\?/);
  await until("the workload is off", 60_000, async () => !(await isEnabled()));
  await open(page);
  await box(page).fill("resume okapi-work");
  await choose(page, /Resume workload okapi-work/);
  await until("the workload is on", 60_000, isEnabled);
});

test("a worker is drained and activated by name, a task is retried by its key", async () => {
  await using ui = await rig.open("/ui/home");
  const { page } = ui;
  const statusOf = async () =>
    (await rig.api<{ status: string }>("GET", `/workers/${worker_id}`)).status;
  await open(page);
  await page.keyboard.type(`drain ${worker_id}`);
  await choose(page, /Drain worker/);
  await choose(page, /^Drain worker Drain/);
  await until("the worker drains", 60_000, async () => (await statusOf()) === "drain");
  await open(page);
  await box(page).fill(`activate ${worker_id}`);
  await choose(page, /Activate worker/);
  await until("the worker is active", 60_000, async () => (await statusOf()) === "active");
  await open(page);
  await box(page).fill("retry okapi-task");
  await choose(page, /Retry task okapi-task-1/);
  await until("a second run", 60_000, async () => {
    const { runs } = await rig.api<{ runs: unknown[] }>("GET", "/api/v1/workloads/okapi-work/runs");
    return runs.length === 2;
  });
});

test("what the role of the caller may not do is found, and not offered", async () => {
  const hub = await startTestHub({ alone: true });
  await using _closed = { [Symbol.asyncDispose]: () => hub.close() };
  const made = async (role: string, headers = {}): Promise<string> =>
    (await hub.call("POST", "/tokens", { name: role, role }, { headers })).body.token;
  const admin = { authorization: `Bearer ${await made("admin")}` };
  const workload = {
    slug: "quokka-work",
    executor_type: "command",
    executor_config: { argv: ["true"] },
  };
  const there = await hub.call("POST", "/api/v1/workloads", workload, { headers: admin });
  expect(there.status).toBe(201);
  await using ui = await rig.open("/ui/home", { url: hub.url });
  const { page } = ui;
  const asks = async (role: string) => {
    const dialog = page.getByRole("dialog", { name: "This server asks for its token" });
    await dialog.getByLabel("API token").fill(await made(role, admin));
    await dialog.getByRole("button", { name: "Log in" }).click();
    await page.getByRole("button", { name: "Log out" }).waitFor();
    await open(page);
    await box(page).fill("pause quokka-work");
    await entry(page, /^quokka-work.*Workload/).waitFor();
  };
  await asks("viewer");
  expect(await entry(page, /Pause workload/).count()).toBe(0);
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Log out" }).click();
  await asks("operator");
  await entry(page, /Pause workload quokka-work/).waitFor();
  await ui.judge(/status of 401/);
});

test("settings are found by name; what nobody wrote says so", async () => {
  await using ui = await rig.open("/ui/home");
  const { page } = ui;
  await open(page);
  await page.keyboard.type("recording days");
  await choose(page, /^Keep recordings for/);
  await page.waitForURL("**/ui/system/settings?part=fleet&setting=recording_days");
  const row = page.locator(".setting", { hasText: "Keep recordings for" });
  await row.locator("input:focus").waitFor();
  await open(page);
  await box(page).fill("nobodywrotethis");
  await page.getByText("Nothing was found").waitFor();
  await ui.judge();
});

test("what a busy hub has not searched yet is named, asked for again, and found (rules/web-app#ctrl-k)", async () => {
  await using ui = await rig.open("/ui/home");
  const { page } = ui;
  let busy = true;
  await page.route("**/api/v1/search?*", async (route) => {
    const q = new URL(route.request().url()).searchParams.get("q");
    if (busy) await route.fulfill({ json: { q, hits: [], incomplete: ["workload", "task"] } });
    else await route.continue();
  });
  await open(page);
  await box(page).fill("okapi-work");
  await entry(page, /^Still searching: Workloads, Tasks/).click();
  busy = false;
  await entry(page, /^okapi-work.*Workload/).waitFor();
  await entry(page, /^Still searching/).waitFor({ state: "detached" });
  await ui.judge();
});

test("on a phone it fills the window and is used by touch", async () => {
  await using ui = await rig.open("/ui/captures", { width: 390, height: 844 });
  const { page } = ui;
  await open(page);
  const dialog = page.getByRole("dialog").filter({ has: box(page) });
  // All but what the scroll bar of the page takes.
  expect((await dialog.boundingBox())?.width).toBeGreaterThan(370);
  await box(page).fill("okapi-work");
  await entry(page, /^okapi-work.*Workload/).click();
  await page.waitForURL("**/ui/pipelines/okapi-work");
  await ui.judge();
});

test("a filtered list is saved under a name, counted, and forgotten (rules/saved-lists#in-the-web-app)", async () => {
  await rig.api<Job>("POST", "/jobs", {
    url: `${rig.site}/page?palette=labelled`,
    labels: { team: "okapi" },
    options: { mode: "rerun", code: "1" },
  });
  await using ui = await rig.open("/ui/captures");
  const { page } = ui;
  await page.getByRole("textbox", { name: "Label" }).fill("team:okapi");
  await page.waitForURL("**label=team%3Aokapi**");
  await page.getByRole("button", { name: "Save this list" }).click();
  await page.getByRole("textbox", { name: "Name of the list" }).fill("Of okapi");
  await page.keyboard.press("Enter");
  const tabs = page.getByRole("navigation", { name: "Saved lists" });
  await tabs.getByRole("button", { name: /Of okapi\s*1/ }).waitFor();
  await ui.judge();
  await tabs.getByRole("button", { name: "All captures" }).click();
  await page.waitForURL((url) => !url.search.includes("label"));
  await tabs.getByRole("button", { name: /Of okapi/ }).click();
  await page.waitForURL("**label=team%3Aokapi**");
  await tabs.getByRole("button", { name: "Forget this list" }).click();
  await page.getByRole("button", { name: "Forget it" }).click();
  await tabs.getByRole("button", { name: /Of okapi/ }).waitFor({ state: "detached" });
});
