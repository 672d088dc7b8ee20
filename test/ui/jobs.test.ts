import { Database } from "bun:sqlite";
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import type { Job } from "#shared/protocol/schema/job.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { type UiRig, uiRig } from "#test/support/rigs/ui-rig.ts";

/** The jobs table: filters and paging of GET /jobs (rules/jobs#list-jobs), and what is done to many at once. */

setDefaultTimeout(180_000);

/** More than one page of the table. */
const MANY = 104;
/** A part of every address of this file. */
const OURS = "b-table";
const HOSTILE = "<img/src=x/onerror=alert(1)>";

/** 12:59:30 in Berlin. */
const LONG_AGO = "2020-07-02T10:59:30.000Z";

let rig: UiRig;
let worker_id = "";

/** Jobs of mode rerun are answered at once, and wait while no worker takes any. */
const post = (name: string) =>
  rig.api<Job>("POST", "/jobs", {
    url: `${rig.site}/page?${OURS}=${name}`,
    options: { mode: "rerun", code: "1" },
  });
const ours = async (name = ""): Promise<Job[]> => {
  const path = `/jobs?limit=200&q=${OURS}${name}`;
  return (await rig.api<{ jobs: Job[] }>("GET", path)).jobs;
};
const setWorker = (status: string) => rig.api("POST", `/workers/${worker_id}/status`, { status });

beforeAll(async () => {
  rig = await uiRig();
  const { workers } = await rig.api<{ workers: { worker_id: string }[] }>("GET", "/workers");
  worker_id = workers[0]?.worker_id ?? "";
  await setWorker("standby");
  await Promise.all(Array.from({ length: MANY - 1 }, (_, i) => post(`job${i}`)));
  await post(HOSTILE);
});
afterAll(async () => {
  await Promise.all((await ours()).map(({ job_id }) => rig.api("DELETE", `/jobs/${job_id}`)));
  await setWorker("active");
});

test("jobs are paged, and the address shows the same again (rules/jobs#list-jobs)", async () => {
  await using ui = await rig.open(`/ui/captures?q=${OURS}`);
  const { page } = ui;
  const rows = page.getByRole("table", { name: "Jobs" }).locator(".row.body");
  const first = (text: string) => rows.first().getByText(text).waitFor();
  await page.getByText(HOSTILE).waitFor();
  // The last are drawn after the first.
  await rows.nth(99).waitFor();
  expect(await rows.count()).toBe(100);

  // Live: a job that comes while the page is open.
  await post("late");
  await first("late");

  await page.getByRole("button", { name: "Older" }).click();
  await page.getByText(`Page 2, ${MANY + 1 - 100} rows`).waitFor();
  await page.reload();
  await page.getByText(`Page 2, ${MANY + 1 - 100} rows`).waitFor();
});

test("jobs are filtered by what the address names (rules/jobs#list-jobs)", async () => {
  await using ui = await rig.open(`/ui/captures?q=${OURS}`);
  const { page } = ui;
  const rows = page.getByRole("table", { name: "Jobs" }).locator(".row.body");
  await page.getByRole("textbox", { name: "Address has" }).fill(`${OURS}=job7`);
  await until("the jobs that fit", 60_000, async () => (await rows.count()) === 11);
  await ui.judge();

  await page.getByRole("combobox", { name: "Status" }).click();
  await page.getByRole("option", { name: "failed" }).click();
  await page.getByRole("heading", { name: "No job matches these filters" }).waitFor();
  await page.getByRole("button", { name: "No filters" }).click();
  await page.getByText(HOSTILE).waitFor();
  await page.getByRole("textbox", { name: "Host" }).fill("elsewhere.test");
  await page.getByRole("heading", { name: "No job matches these filters" }).waitFor();
  await page.getByRole("textbox", { name: "Host" }).fill("127.0.0.1");
  await page.getByText(HOSTILE).waitFor();
  await page.getByLabel("Created from").fill("2999-01-01T00:00");
  await page.getByRole("heading", { name: "No job matches these filters" }).waitFor();
  expect(new URL(page.url()).searchParams.get("since")).toMatch(/^(2999-01-01|2998-12-31)T/);
  await page.getByRole("button", { name: "No filters" }).click();
  await page.getByText(HOSTILE).waitFor();
  expect(new URL(page.url()).search).toBe("");
});

test("jobs are narrowed by when they were made, in the browser's time zone, and a filter's percent signs are kept (rules/jobs#list-jobs)", async () => {
  const old = await post("of-long-ago");
  // No call makes a job of another time.
  const db = new Database(join(rig.data_dir, "flotilla.db"));
  db.run("pragma busy_timeout = 5000");
  db.run("update jobs set created_at = ? where job_id = ?", [Date.parse(LONG_AGO), old.job_id]);
  db.close();
  await using ui = await rig.open(`/ui/captures?q=${OURS}`, { zone: "Europe/Berlin" });
  const { page } = ui;
  const rows = page.getByRole("table", { name: "Jobs" }).locator(".row.body");
  const from = page.getByLabel("Created from");
  const before = page.getByLabel("Created until");
  const oneRow = () => until("the old job alone", 60_000, async () => (await rows.count()) === 1);
  await page.getByText(HOSTILE).waitFor();
  await before.fill("2020-07-02T13:00");
  await oneRow();
  await rows.getByText("of-long-ago").waitFor();
  await from.fill("2020-07-02T12:59");
  await oneRow();
  const { searchParams } = new URL(page.url());
  expect([searchParams.get("since"), searchParams.get("until")]).toEqual([
    "2020-07-02T10:59:00.000Z",
    "2020-07-02T11:00:00.000Z",
  ]);
  await page.reload();
  await oneRow();
  expect([await from.inputValue(), await before.inputValue()]).toEqual([
    "2020-07-02T12:59",
    "2020-07-02T13:00",
  ]);
  await from.fill("2020-07-02T13:00");
  await page.getByRole("heading", { name: "No job matches these filters" }).waitFor();
  // As the field stands while its year is typed: what was typed before stays.
  await from.fill("0002-07-02T13:00");
  await page.waitForURL(/since=0002-/);
  await oneRow();
  expect(await from.inputValue()).toBe("0002-07-02T13:00");
  await from.fill("");
  await oneRow();

  const address = page.getByRole("textbox", { name: "Address has" });
  await address.fill("%3Cimg&a=%26");
  await page.waitForURL(/q=%253Cimg%26a%3D%2526/);
  await page.getByRole("heading", { name: "No job matches these filters" }).waitFor();
  expect(await address.inputValue()).toBe("%3Cimg&a=%26");
  expect(ui.complaints()).toEqual([]);
  await rig.api("DELETE", `/jobs/${old.job_id}`);
});

test("the keyboard shows a job beside the list, and a second Enter opens its page (rules/web-app#beside-a-list)", async () => {
  await using ui = await rig.open(`/ui/captures?q=${OURS}=job3`);
  const [, second] = await ours("=job3");
  const { page } = ui;
  await page.locator(".row.body").first().focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.waitForURL(`**show=${second?.job_id}`);
  await page.getByRole("link", { name: "Open capture" }).waitFor();
  await page.locator(".row.body[aria-current]").press("Enter");
  await page.waitForURL(`**/ui/captures/${second?.job_id}`);
});

test("selected jobs are cancelled, submitted again and deleted (rules/jobs#cancel-a-job)", async () => {
  await using ui = await rig.open(`/ui/captures?q=${OURS}=job8`);
  const { page } = ui;
  const bar = page.getByRole("toolbar", { name: "Selection" });
  const all = page.getByRole("checkbox", { name: "Select every row" });
  const of = () => ours("=job8");
  const labels = { team: "again" };
  for (const { job_id } of await of()) await rig.api("PATCH", `/jobs/${job_id}`, { labels });
  const before = await of();

  await all.check();
  await bar.getByText(`${before.length} selected`).waitFor();
  await bar.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Cancel them" }).click();
  await page.getByText(`${before.length} jobs cancelled`).waitFor();
  await until("their end", 60_000, async () =>
    (await of()).every(({ status }) => status === "cancelled"),
  );

  await page.locator(".row.body").first().getByRole("checkbox").check();
  await bar.getByText("1 selected").waitFor();
  expect(await bar.getByRole("button", { name: "Cancel" }).isDisabled()).toBe(true);
  await bar.getByRole("button", { name: "Submit again" }).click();
  const again = await until("the new one", 60_000, async () =>
    (await of()).find(({ status }) => status === "queued"),
  );
  const earlier = before.find(({ url }) => url === again.url);
  expect(again.options).toEqual(earlier?.options ?? {});
  expect(again.labels).toEqual(labels);
  await bar.waitFor({ state: "detached" });

  // Every row is every row that is shown, and the new one comes live.
  await page.locator(".row.body").nth(before.length).waitFor();
  await all.check();
  await bar.getByText(`${before.length + 1} selected`).waitFor();
  await bar.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("button", { name: "Delete them" }).click();
  await until("their end", 60_000, async () => (await of()).length === 0);
  await page.getByRole("heading", { name: "No job matches these filters" }).waitFor();
});

test("what could not be done to a job is said, with why", async () => {
  await using ui = await rig.open(`/ui/captures?q=${OURS}=job90`);
  const { page } = ui;
  await page.route("**/cancel", (route) =>
    route.fulfill({ status: 409, json: { detail: `it has ended: ${HOSTILE}` } }),
  );
  await page.getByRole("checkbox", { name: "Select every row" }).check();
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Cancel them" }).click();
  await page.getByText("1 job not cancelled").waitFor();
  await page.getByText(`it has ended: ${HOSTILE}`).waitFor();
});

test("on a small screen all filters but the first are folded, and those that are set are counted", async () => {
  await using ui = await rig.open("/ui/captures?status=failed", { width: 390, height: 844 });
  const { page } = ui;
  const status = page.getByRole("combobox", { name: "Status" });
  const button = page.getByRole("button", { name: "Filters (1)" });
  await button.waitFor();
  await page.getByRole("textbox", { name: "Words of title, address or error" }).waitFor();
  expect(await status.isVisible()).toBe(false);
  await button.click();
  await status.waitFor();
  expect(await status.inputValue()).toBe("failed");
  await ui.judge();
});

test("all jobs that match are cancelled and deleted, on whichever page they are, once a preview has said how many (rules/failures#acting-on-jobs)", async () => {
  await Promise.all(Array.from({ length: 20 }, (_, i) => post(`more${i}`)));
  const all = await ours();
  expect(all.length).toBeGreaterThan(100);
  const open = all.filter(({ finished_at }) => finished_at === null).length;
  const ended = all.length - open;
  await using ui = await rig.open(`/ui/captures?q=${OURS}`);
  const { page } = ui;
  const bar = page.getByRole("toolbar", { name: "Selection" });
  const dialog = page.getByRole("dialog");
  await page.locator(".row.body").first().getByRole("checkbox").check();
  await bar.getByText("1 selected").waitFor();
  await bar.getByRole("button", { name: `All ${all.length} that match` }).click();
  await bar.getByText(`All ${all.length} that match`).waitFor();
  await ui.judge();
  await bar.getByRole("button", { name: "Cancel what waits or runs…" }).click();
  await dialog.getByText(`This is for ${open} captures.`).waitFor();
  await ui.judge();
  await dialog.getByRole("button", { name: "No, go back" }).click();
  await dialog.waitFor({ state: "detached" });
  expect((await ours()).filter(({ finished_at }) => finished_at === null).length).toBe(open);

  await bar.getByRole("button", { name: "Cancel what waits or runs…" }).click();
  await dialog.getByRole("button", { name: `Cancel ${open} captures` }).click();
  await page.getByText(`${open} captures cancelled`).waitFor();
  expect((await ours()).every(({ finished_at }) => finished_at !== null)).toBe(true);

  // Other filters find others: they are chosen anew.
  await page.goto(`${rig.url}/ui/captures?q=${OURS}&status=cancelled`);
  await page.locator(".row.body").first().getByRole("checkbox").check();
  await bar.getByRole("button", { name: `All ${open + ended} that match` }).click();
  await bar.getByRole("button", { name: "Delete…" }).click();
  await dialog.getByRole("button", { name: `Delete ${open + ended} captures` }).click();
  await page.getByRole("heading", { name: "No job matches these filters" }).waitFor();
  expect(await ours()).toEqual([]);
});
