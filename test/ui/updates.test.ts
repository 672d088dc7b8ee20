import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { FleetUpdates } from "#shared/protocol/schema/updates.ts";
import type { Worker } from "#shared/protocol/schema/worker.ts";
import { connectFakeWorker, type FakeWorker } from "#test/support/fakes/fake-worker.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { type UiPage, type UiRig, uiRig } from "#test/support/rigs/ui-rig.ts";

/** Updates of the workers on their pages, and what the administrator does about them (rules/updates#steering-updates). */

setDefaultTimeout(process.env.UPDATE_PICTURES ? 600_000 : 240_000);

const OLD = "0123456789ab";
const HOSTILE = `it crashed "><img src=x onerror=alert(1)>`;
/** Pictures to be looked at: `UPDATE_PICTURES=DIR`. */
const PICTURES = process.env.UPDATE_PICTURES;

let rig: UiRig;
let canary: FakeWorker;
let other: FakeWorker;
let version = "";
const updates = () => rig.api<FleetUpdates>("GET", "/api/v1/updates");
const admin = async (path: string, body?: object) => {
  const answer = await fetch(`${rig.url}/api/v1/updates/${path}`, {
    method: "POST",
    headers: { "x-admin-password": rig.admin_password, "content-type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  });
  expect(answer.status).toBe(200);
};
/** It takes no job: other tests' are not for it. */
const join = async (worker_id: string, status: "active" | "drain") => {
  const worker = connectFakeWorker(rig.url, {
    ...{ worker_id, version: OLD, waits_for_order: true, instance_id: worker_id },
    capabilities: {
      max_concurrent: 0,
      lane_novnc_urls: [],
      novnc_url: null,
      browser: null,
      capture: "buffered",
    },
  });
  await worker.registered;
  await rig.api("POST", `/workers/${worker_id}/status`, { status });
  return worker;
};

beforeAll(async () => {
  rig = await uiRig();
  version = (await rig.api<{ version: string }>("GET", "/health")).version;
  // The first look at a page has the app made.
  await fetch(`${rig.url}/ui/system/workers?kind=browser`);
  await admin("pause");
  canary = await join("u-canary", "active");
  other = await join("u-other", "drain");
}, 180_000);
afterAll(async () => {
  for (const worker of [canary, other]) {
    await worker.close();
    await until("its end", 60_000, async () => {
      const { workers } = await rig.api<{ workers: Worker[] }>("GET", "/workers");
      return workers.some((one) => one.worker_id === worker.worker_id && !one.alive);
    });
    await rig.api("DELETE", `/workers/${worker.worker_id}`);
  }
  await admin("pin", { version: null });
  await admin("approve", {});
  await admin("resume");
}, 180_000);

async function login({ page }: UiPage): Promise<void> {
  const dialog = page.getByRole("dialog", { name: "Only the administrator may do this" });
  await dialog.getByLabel("Administrator's password").fill(rig.admin_password);
  await dialog.getByRole("button", { name: "Log in" }).click();
}
const pictures = async (name: string, path: string) => {
  if (!PICTURES) return;
  for (const [width, height] of [
    [1440, 900],
    [1024, 768],
    [390, 844],
  ] as const)
    for (const colors of ["light", "dark"] as const) {
      await using ui = await rig.open(path, { width, height, colors });
      await ui.page.getByRole("region", { name: "Updates" }).waitFor();
      await ui.page.screenshot({ path: `${PICTURES}/${name}-${width}-${colors}.png` });
    }
};

test("paused updates say so, and go on by the administrator's word", async () => {
  await until("the hold", 60_000, async () => (await updates()).workers.length === 2);
  await pictures("paused", "/ui/system/workers?kind=browser");
  await using ui = await rig.open("/ui/system/workers?kind=browser");
  const { page } = ui;
  const banner = page.getByRole("region", { name: "Updates" });
  await banner.getByText("Updates are paused", { exact: true }).waitFor();
  await banner.getByText(/2 workers wait/).waitFor();
  await page.getByRole("row", { name: "u-other" }).getByText("held", { exact: true }).waitFor();
  await banner.getByRole("button", { name: "Resume updates" }).click();
  await login(ui);
  await banner.getByText("A canary takes the new version").waitFor();
  await page.getByRole("row", { name: "u-canary" }).getByText("starting").waitFor();
  await ui.judge(/401/);
});

test("a failure is a red banner on the pages of workers and on the overview, and is approved there", async () => {
  const report = { target: version, state: "failed", error: HOSTILE, rolled_back: true };
  await until("the failure", 60_000, async () => {
    canary.heartbeat({ update: report });
    return (await updates()).state === "stopped";
  });
  await pictures("stopped", "/ui/system/workers?kind=browser");
  await pictures("stopped-pull", "/ui/system/workers?kind=pipeline");
  for (const path of ["/ui/system/workers?kind=pipeline", "/ui/home"]) {
    await using ui = await rig.open(path, { width: 390, height: 844, colors: "dark" });
    await ui.page.getByText("An update failed, and the others keep their version").waitFor();
    await ui.judge();
  }
  await using ui = await rig.open("/ui/system/workers?kind=browser&worker=u-canary");
  const { page } = ui;
  const drawer = page.getByRole("region", { name: "Worker u-canary" });
  await drawer.getByText(`Its update to ${version} failed: ${HOSTILE}.`).waitFor();
  await drawer.getByText(/^This began/).waitFor();
  await page.keyboard.press("Escape");
  const banner = page.getByRole("region", { name: "Updates" });
  await banner.getByText(HOSTILE).waitFor();
  await page.getByRole("row", { name: "u-canary" }).getByText("failed").waitFor();
  await banner.getByRole("button", { name: "Approve" }).click();
  const ask = page.getByRole("dialog", { name: `Let the workers go on to ${version}?` });
  await ask.getByRole("button", { name: "Approve" }).click();
  await login(ui);
  await page.getByRole("row", { name: "u-other" }).getByText("starting").waitFor();
  expect((await updates()).failure).toBeNull();
  await ui.judge(/401/);
});

test("a version is pinned, one that nobody has is refused, and the pin is taken away", async () => {
  await using ui = await rig.open("/ui/system/workers?kind=browser", {
    width: 1024,
    height: 768,
    colors: "dark",
  });
  const { page } = ui;
  const banner = page.getByRole("region", { name: "Updates" });
  await banner.getByRole("button", { name: "Pin a version" }).click();
  const dialog = page.getByRole("dialog", { name: "Pin a version" });
  await dialog.getByLabel("Version").fill("ffffffffffff");
  await dialog.getByRole("button", { name: "Pin", exact: true }).click();
  await login(ui);
  await dialog.getByText(/is none that a hub or a worker has/).waitFor();
  await dialog.getByLabel("Version").fill(version);
  if (PICTURES) await page.screenshot({ path: `${PICTURES}/pin-1024-dark.png` });
  await dialog.getByRole("button", { name: "Pin", exact: true }).click();
  await banner.getByText(`The fleet is pinned to ${version}.`).waitFor();
  await banner.getByRole("button", { name: "Pin a version" }).click();
  await dialog.getByRole("button", { name: "Remove the pin" }).click();
  await until("no pin", 60_000, async () => (await updates()).pin === null);
  await ui.judge(/401|422/);
});
