import { beforeAll, setDefaultTimeout, test } from "bun:test";
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
  const series = JSON.stringify({ minutes: 60, cpu: [], series: [] });
  await ui.page.route("**/api/v1/workers/metrics*", (route) =>
    route.fulfill({ contentType: "application/json", body: series }),
  );
  await ui.page.goto(`${rig.url}/ui/system/workers?kind=load`);
  await ui.page.getByText("No GPU was reported in this period").waitFor();
  await ui.judge();
});
