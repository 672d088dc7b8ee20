import { beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { until } from "#test/support/rigs/fleet-process.ts";
import { type UiRig, uiRig } from "#test/support/rigs/ui-rig.ts";

/** How somebody groups failures and retries one group (rules/failures#groups). */

setDefaultTimeout(180_000);

const SLUG = "triage-ui";
let rig: UiRig;
const failed = async () =>
  (await rig.api<{ failed: number }>("GET", `/api/v1/workloads/${SLUG}/queue`)).failed;

beforeAll(async () => {
  rig = await uiRig();
  const argv = ["sh", "-c", 'echo "disk /dev/sda$0 is full" >&2; exit 3'];
  await rig.api("POST", "/api/v1/workloads", {
    slug: SLUG,
    executor_type: "command",
    executor_config: { argv },
    max_attempts: 1,
  });
  const items = ["k1", "k2", "k3"].map((pk) => ({ pk }));
  await rig.api("POST", `/api/v1/workloads/${SLUG}/tasks/batch`, { items });
  await until("three failed tasks", 120_000, async () => (await failed()) === 3);
}, 240_000);

test("a group says how often and shows one of its errors; its tasks are retried after a preview of the number", async () => {
  await using ui = await rig.open(`/ui/pipelines/failures?workload=${SLUG}`);
  const { page } = ui;
  const row = page.getByRole("table", { name: "Failures" }).locator(".row.body").first();
  await row.getByText("3", { exact: true }).waitFor();
  await page.locator("[data-traceback]").first().waitFor();
  await ui.judge();

  await rig.api("POST", `/api/v1/workloads/${SLUG}/tasks/delete`, { text: "k3" });
  await page.reload();
  await page.getByRole("button", { name: "Retry…" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("This is for 2 tasks.").waitFor();
  await ui.judge();
  expect(await failed()).toBe(2);
  await dialog.getByRole("button", { name: "Retry 2 tasks" }).click();
  await page.getByText("2 tasks retried").waitFor();
  // They fail again, as the group's.
  await row.getByText("5", { exact: true }).waitFor();
});

test("in a narrow window and on a phone a group opens over the list, and closes again", async () => {
  for (const width of [820, 390]) {
    await using ui = await rig.open(`/ui/pipelines/failures?workload=${SLUG}`, { width });
    const { page } = ui;
    const row = page.getByRole("table", { name: "Failures" }).locator(".row.body").first();
    await row.waitFor();
    expect(await page.getByRole("dialog").count()).toBe(0);
    await row.click();
    const drawer = page.getByRole("dialog", { name: "Failure" });
    await drawer.locator("[data-traceback]").waitFor();
    await ui.judge();
    await page.keyboard.press("Escape");
    await drawer.waitFor({ state: "detached" });
    await row.click();
    await drawer.waitFor();
  }
});

test("a run leads to its group, and the group to its runs", async () => {
  const list = await rig.api<{ runs: { run_id: number; fingerprint: string }[] }>(
    "GET",
    `/api/v1/workloads/${SLUG}/runs?success=false`,
  );
  const [run] = list.runs;
  await using ui = await rig.open(`/ui/pipelines/runs?run=${run?.run_id}`);
  const { page } = ui;
  await page.getByRole("link", { name: "What failed alike" }).click();
  await page.waitForURL(`**/ui/pipelines/failures?group=${run?.fingerprint}`);
  await page.getByRole("link", { name: "All of this group" }).click();
  await page.waitForURL(`**/ui/pipelines/runs?fingerprint=${run?.fingerprint}`);
  await page.getByRole("table", { name: "Runs" }).locator(".row.body").first().waitFor();
  expect(ui.complaints()).toEqual([]);
});

test("failed captures have groups too", async () => {
  const { job_id } = await rig.api<{ job_id: string }>("POST", "/jobs", {
    url: "http://triage-ui.invalid/",
  });
  await until("the end of the job", 120_000, async () => {
    const job = await rig.api<{ status: string }>("GET", `/jobs/${job_id}`);
    return job.status === "failed";
  });
  await using ui = await rig.open("/ui/captures/failures?host=triage-ui.invalid");
  const { page } = ui;
  await page.getByRole("button", { name: "Retry…" }).waitFor();
  await page.getByRole("link", { name: "http://triage-ui.invalid/" }).waitFor();
  await ui.judge();
});

test("what waits at the host of a group is cancelled after a preview of the number (rules/failures#acting-on-jobs)", async () => {
  const host = "cancel-ui.invalid";
  const submit = (options: object) =>
    rig.api<{ job_id: string }>("POST", "/jobs", { url: `http://${host}/`, options });
  const statusOf = async ({ job_id }: { job_id: string }) =>
    (await rig.api<{ status: string }>("GET", `/jobs/${job_id}`)).status;
  const lost = await submit({});
  await until("the end of the job", 120_000, async () => (await statusOf(lost)) === "failed");
  const { workers } = await rig.api<{ workers: { worker_id: string }[] }>("GET", "/workers");
  const setWorkers = async (status: string) => {
    for (const { worker_id } of workers)
      await rig.api("POST", `/workers/${worker_id}/status`, { status });
  };
  await using _after = { [Symbol.asyncDispose]: () => setWorkers("active") };
  await setWorkers("standby");
  const waits = await submit({ mode: "rerun", code: "1" });
  await using ui = await rig.open(`/ui/captures/failures?host=${host}`);
  const { page } = ui;
  await page.getByRole("button", { name: "More for these captures" }).click();
  await page.getByRole("menuitem", { name: `Cancel what waits or runs at ${host}…` }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("This is for 1 capture.").waitFor();
  await ui.judge();
  expect(await statusOf(waits)).toBe("queued");
  await dialog.getByRole("button", { name: "Cancel 1 capture" }).click();
  await page.getByText("1 capture cancelled").waitFor();
  expect([await statusOf(waits), await statusOf(lost)]).toEqual(["cancelled", "failed"]);
});
