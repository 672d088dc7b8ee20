import { beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { Worker } from "#shared/protocol/schema/worker.ts";
import { connectFakeWorker } from "#test/support/fakes/fake-worker.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { type UiRig, uiRig } from "#test/support/rigs/ui-rig.ts";

/** Workers and what is done to them (rules/workers#worker-record, rules/workers#status-of-a-worker). */

setDefaultTimeout(180_000);

let rig: UiRig;
let worker: Worker;
const workers = async () => (await rig.api<{ workers: Worker[] }>("GET", "/workers")).workers;
beforeAll(async () => {
  rig = await uiRig();
  const connected = (await workers()).find(({ alive }) => alive);
  if (!connected) throw new Error("no worker");
  worker = connected;
});

test("a worker is set to drain, standby and active beside the list, whose address can be passed on (rules/workers#status-of-a-worker)", async () => {
  await using ui = await rig.open("/ui/system/workers?kind=browser");
  const { page } = ui;
  await page.getByRole("row", { name: worker.worker_id }).click();
  await page.waitForURL(`**/ui/system/workers?kind=browser&worker=${worker.worker_id}`);
  await page.reload();
  const drawer = page.getByRole("region", { name: `Worker ${worker.worker_id}` });
  await drawer.getByText("Lane 0", { exact: true }).waitFor();
  for (const status of ["drain", "standby", "active"] as const) {
    await drawer.getByText(status, { exact: true }).click();
    await page.getByText(`Worker ${worker.worker_id}: ${status}`).waitFor();
    expect((await workers()).find(({ worker_id }) => worker_id === worker.worker_id)?.status).toBe(
      status,
    );
  }
  await ui.judge();
});

test("filters are in the address; a table without a match says so (rules/web-app#addresses-of-the-app)", async () => {
  await using ui = await rig.open("/ui/system/workers?kind=browser&show=standby", {
    width: 390,
    height: 844,
    colors: "dark",
  });
  await ui.page.getByRole("heading", { name: "No worker matches" }).waitFor();
  await ui.page.getByRole("textbox", { name: "Id, host or version" }).fill(worker.worker_id);
  await ui.page.waitForURL(`**show=standby&q=${worker.worker_id}`);
  await ui.page.goto(`${rig.url}/ui/system/workers?kind=browser&q=${worker.worker_id}`);
  await ui.page.getByRole("row", { name: worker.worker_id }).waitFor();
  await ui.judge();
});

test("a worker of another version says what comes of it; one that has gone is forgotten (rules/updates#states-of-an-update)", async () => {
  const hostile = "<img src=x onerror=alert(1)>";
  // It takes nothing: its lane is bad, and it has no room.
  const odd = connectFakeWorker(rig.url, {
    worker_id: "a-odd",
    version: "0123456789ab",
    hostname: hostile,
    capabilities: {
      max_concurrent: 0,
      lane_novnc_urls: [],
      novnc_url: null,
      browser: null,
      capture: "buffered",
    },
  });
  await odd.registered;
  odd.lane(0, { state: "quarantined", reason: `it said "><script>alert(2)</script>` });
  const failed = { target: worker.version, state: "failed", error: "its disk is full" };
  odd.heartbeat({ update: failed });
  await odd.settle();
  odd.heartbeat({ update: failed });
  await until("the report", 60_000, async () =>
    (await workers()).some(({ update }) => update?.state === "failed"),
  );
  await using ui = await rig.open("/ui/system/workers?kind=browser&show=skewed");
  const { page } = ui;
  const row = page.getByRole("row", { name: "a-odd" });
  await row.getByText("failed").waitFor();
  await row.press("Enter");
  const drawer = page.getByRole("region", { name: "Worker a-odd" });
  await drawer.getByText(/^Its update to .* failed: its disk is full\./).waitFor();
  await drawer.getByText(hostile, { exact: true }).waitFor();
  await drawer.getByText('it said "><script>alert(2)</script>').waitFor();
  await page.goto(`${rig.url}/ui/browsers?worker=a-odd`);
  await page.getByText('it said "><script>alert(2)</script>').waitFor();
  await page.getByRole("button", { name: "1 quarantined" }).waitFor();
  await odd.close();
  await page.goto(`${rig.url}/ui/system/workers?kind=browser&worker=a-odd`);
  await drawer.getByRole("button", { name: "Forget this worker" }).click();
  const ask = page.getByRole("dialog", { name: "Forget worker a-odd?" });
  await ask.getByRole("button", { name: "Forget this worker" }).click();
  await page.getByText("Worker a-odd is forgotten").waitFor();
  expect((await workers()).map(({ worker_id }) => worker_id)).not.toContain("a-odd");
  await ui.judge();
});
