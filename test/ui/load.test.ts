import { beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { keepReading } from "#hub/ui/client/pipeline/load-charts/cpu-history.ts";
import { uiPuller } from "#test/support/rigs/ui-puller.ts";
import { type UiRig, uiRig } from "#test/support/rigs/ui-rig.ts";

/** CPU and GPUs of workers in the admin UI (rules/pipeline-views#cpu-use, rules/pipeline-views#gpu-metrics). */

setDefaultTimeout(180_000);

let rig: UiRig;
beforeAll(async () => {
  rig = await uiRig();
});

test("hosts by how busy they are, with charts of their CPU and GPUs; the range is in the address (rules/pipeline-views#cpu-use)", async () => {
  const host = "g-cards <b>x</b>";
  const worker = await uiPuller(rig, "g-cards", { host }, []);
  await worker.call("heartbeat", {
    ...{ cpu_percent: 12, host_cpu_percent: 93, mem_percent: 40 },
    gpus: [{ index: 0, name: "Card", util_percent: 71, mem_used_mb: 1_000, mem_total_mb: 4_000 }],
  });
  await using ui = await rig.open("/ui/system/workers?kind=load");
  const { page } = ui;
  const box = page.getByRole("button", { name: host });
  await box.getByText("CPU 93 %, GPU 71 %, 1 worker").waitFor();
  await page.getByRole("img", { name: "CPU of the hosts" }).waitFor();
  await page.getByRole("img", { name: `Memory of the GPUs of ${host}` }).waitFor();
  const asked = page.waitForRequest(/metrics\?minutes=2880/);
  await page.getByText("2 days").click();
  await asked;
  await page.waitForURL("**/ui/system/workers?kind=load&minutes=2880");
  await ui.judge();
  await box.click();
  await page.waitForURL("**/ui/system/workers?kind=pipeline&q=**");
  await page.getByRole("row", { name: /g-cards/ }).waitFor();
});

test("without GPUs the page says where readings come from", async () => {
  await using ui = await rig.open("/ui/library/hosts", { width: 390, height: 844 });
  const series = JSON.stringify({ minutes: 60, series: [] });
  await ui.page.route("**/api/v1/workers/metrics*", (route) =>
    route.fulfill({ contentType: "application/json", body: series }),
  );
  await ui.page.goto(`${rig.url}/ui/system/workers?kind=load`);
  await ui.page.getByText("No GPU was reported in this period").waitFor();
  await ui.judge();
});

test("readings of CPU are kept for two hours at most", () => {
  let history = keepReading([], { workers: [], hosts: [], cluster_max: null }, 1_000);
  for (let i = 1; i < 5_000; i += 1) {
    const hosts = [{ host: "a", cpu_percent: i % 100 }];
    history = keepReading(history, { workers: [], hosts, cluster_max: null }, 1_000 + i * 5);
  }
  expect(history.length).toBe(1_440);
  expect(history.at(-1)).toEqual({ at: 1_000 + 4_999 * 5, hosts: { a: 99 } });
});
