import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { Page } from "playwright-core";
import type { Job } from "#shared/protocol/schema/job.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { type UiRig, uiRig } from "#test/support/rigs/ui-rig.ts";
import { type PlainProxy, startPlainProxy } from "#test/support/servers/plain-proxy.ts";

/** What a click on a Copy button puts on the clipboard, over HTTPS or loopback and over plain HTTP. */

setDefaultTimeout(180_000);

let rig: UiRig;
let proxy: PlainProxy;
let job: Job;

beforeAll(async () => {
  rig = await uiRig();
  proxy = startPlainProxy(rig.url);
  const { job_id } = await rig.api<Job>("POST", "/jobs", {
    url: `${rig.site}/page?c-copy=<b>"&amp;`,
    options: { idle_seconds: 0.1 },
  });
  job = await until("the end of the job", 150_000, async () => {
    const now = await rig.api<Job>("GET", `/jobs/${job_id}`);
    return now.finished_at === null ? undefined : now;
  });
}, 240_000);
afterAll(() => proxy?.stop());

/** Pasted by the keyboard: any page may do that. */
async function pasted(page: Page): Promise<string> {
  await page.getByRole("tab", { name: /^Assets/ }).click();
  const box = page.getByRole("textbox", { name: "Name, address or type" });
  await box.fill("");
  await box.press("Control+V");
  return box.inputValue();
}

const fact = (page: Page, name: string) =>
  page.getByRole("dialog").getByRole("button", { name: `Copy: ${name}` });

/** The address of the job, as it was submitted. */
async function copyAddress(page: Page): Promise<void> {
  await page.getByRole("tab", { name: "Details" }).click();
  const details = page.getByRole("tabpanel", { name: "Details" });
  await details.getByRole("button", { name: "Copy the address" }).click();
}

async function firstAsset(): Promise<{ name: string; sha256: string; source_url: string }> {
  const path = `/jobs/${job.job_id}/assets.json`;
  const { items } = await rig.api<{
    items: { name: string; sha256: string; source_url: string }[];
  }>("GET", path);
  const [first] = items;
  if (first === undefined) throw new Error("no assets");
  return first;
}

test("a command, a job's address and an asset's facts are on the clipboard as they are, and the button says so", async () => {
  const asset = await firstAsset();
  await using ui = await rig.open("/ui/captures/c-nothing");
  const { page } = ui;
  const context = page.context();
  await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: rig.url });
  try {
    const read = () => page.evaluate<string>("navigator.clipboard.readText()");
    await page.getByRole("button", { name: "Copy the command" }).click();
    await page.getByRole("tooltip", { name: "Copied" }).waitFor();
    expect(await read()).toBe(`curl ${rig.url}/jobs?limit=5`);

    await page.goto(`${rig.url}/ui/captures/${job.job_id}?tab=assets&asset=${asset.name}`);
    await fact(page, "SHA-256").click();
    await page.getByRole("tooltip", { name: "Copied" }).waitFor();
    expect(await read()).toBe(asset.sha256);
    await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
    await copyAddress(page);
    await until("the address", 60_000, async () => (await read()) === job.url);
    await ui.judge(/404/);
  } finally {
    await context.clearPermissions();
  }
});

test("over plain HTTP, where pages have no navigator.clipboard, the text is copied all the same or shown to be selected", async () => {
  const asset = await firstAsset();
  await using ui = await rig.open(`/ui/captures/${job.job_id}?tab=assets&asset=${asset.name}`, {
    url: proxy.url,
  });
  const { page } = ui;
  expect(await page.evaluate("navigator.clipboard === undefined")).toBe(true);
  // In a dialog, which keeps the focus.
  await fact(page, "Address").click();
  await page.getByRole("tooltip", { name: "Copied" }).waitFor();
  expect(await page.locator(":focus").getAttribute("aria-label")).toBe("Copy: Address");
  await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
  expect(await pasted(page)).toBe(asset.source_url);
  await copyAddress(page);
  await page.getByRole("tooltip", { name: "Copied" }).waitFor();
  expect(await pasted(page)).toBe(job.url);

  // A browser whose owner forbids even that.
  await page.evaluate("document.execCommand = () => false");
  await copyAddress(page);
  const told = page.getByRole("alert").filter({ hasText: "does not let this page copy" });
  await told.getByText(job.url, { exact: true }).waitFor();
  expect(await page.getByRole("tooltip", { name: "Copied" }).count()).toBe(0);
  // What decodes recordings warns of plain HTTP.
  await ui.judge(/501|noVNC/);
});
