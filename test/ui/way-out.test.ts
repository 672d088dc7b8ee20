import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { Page } from "playwright-core";
import type { Host } from "#shared/protocol/schema/host.ts";
import type { Job } from "#shared/protocol/schema/job.ts";
import type { Preset } from "#shared/protocol/schema/preset.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { type UiRig, uiRig } from "#test/support/rigs/ui-rig.ts";

/** Egress and proxy in the forms of jobs, presets and hosts (rules/egress#narrow-a-job, rules/egress#proxies). */

setDefaultTimeout(180_000);

/** Nobody listens there: what matters is what is stored. */
const PROXY = "http://127.0.0.1:9";
const HOST = "e-out.example";

let rig: UiRig;
const made: string[] = [];
beforeAll(async () => {
  rig = await uiRig();
  await rig.api("PUT", "/presets/e-public", {
    options: { egress: { mode: "public" }, proxy: PROXY, scroll: true },
  });
});
afterAll(async () => {
  for (const job_id of made) await rig.api("DELETE", `/jobs/${job_id}`);
  await rig.api("DELETE", "/presets/e-public");
  await rig.api("DELETE", `/hosts/${HOST}`).catch(() => {});
});

const box = (page: Page, name: string) => page.getByRole("textbox", { name });
const password = (page: Page) => page.getByLabel("Password", { exact: true });
const mode = (page: Page) => page.getByRole("combobox", { name: "May connect to" });
const openGroup = (page: Page) => page.getByRole("button", { name: "Network" }).click();
const submit = (page: Page) => page.getByRole("button", { name: "Submit the job" }).click();

async function submitted(page: Page): Promise<Job> {
  await submit(page);
  await page.waitForURL(/\/ui\/captures\/(?!new)[^/?]+(\?|$)/);
  const job_id = new URL(page.url()).pathname.split("/").at(-1) ?? "";
  made.push(job_id);
  return rig.api<Job>("GET", `/jobs/${job_id}`);
}

const OPTIONS = {
  egress: {
    mode: "listed",
    allow: ["127.0.0.1", "*.example.com:443"],
    deny: ["ads.example"],
  },
  proxy: { server: PROXY, username: "***", password: "***", bypass: ".example.com" },
};

test("a job is narrowed and sent through a proxy whose login nobody is shown", async () => {
  await using ui = await rig.open(`/ui/captures/new?url=${rig.site}/page&max_wait_seconds=5`);
  const { page } = ui;
  await openGroup(page);
  await mode(page).click();
  await page.getByRole("option", { name: "Listed places only" }).click();
  await box(page, "Also to").pressSequentially("127.0.0.1, *.example.com:443,");
  await box(page, "Never to").fill("ads.example");
  await box(page, "Server of the proxy").fill(PROXY.replace("//", "//me:hu%40sh@"));
  await box(page, "Without the proxy").fill(".example.com");
  expect(await box(page, "Server of the proxy").inputValue()).toBe(PROXY);
  expect(await box(page, "User name").inputValue()).toBe("me");
  expect(await password(page).inputValue()).toBe("hu@sh");
  expect(await password(page).getAttribute("type")).toBe("password");
  await page.getByText('"password": "***"').waitFor();
  await ui.judge();
  expect((await submitted(page)).options).toMatchObject(OPTIONS);
});

test("the way out of an earlier job is filled in, and its login has to be given again", async () => {
  const earlier = await rig.api<Job>("POST", "/jobs", {
    url: `${rig.site}/page`,
    options: {
      ...{ ...OPTIONS, max_wait_seconds: 5 },
      proxy: { ...OPTIONS.proxy, username: "me", password: "hush" },
    },
  });
  made.push(earlier.job_id);
  await using ui = await rig.open(`/ui/captures/new?from=${earlier.job_id}`);
  const { page } = ui;
  await submit(page);
  await page.getByText("so it must be given again").waitFor();
  expect(await box(page, "Also to").inputValue()).toBe(OPTIONS.egress.allow.join(", "));
  expect(await box(page, "User name").inputValue()).toBe("***");
  await box(page, "User name").fill("me");
  await password(page).fill("hush");
  expect((await submitted(page)).options).toEqual(earlier.options);
  await ui.judge(/422/);
});

test("an entry that is no place is said where it was typed, also in the folded group", async () => {
  await using ui = await rig.open(`/ui/captures/new?url=${rig.site}/page`);
  const { page } = ui;
  await openGroup(page);
  await box(page, "Never to").fill("10.0.0.0/99");
  await openGroup(page);
  await submit(page);
  await page.getByRole("alert").getByText("must be an address, a CIDR range").waitFor();
  await page.getByText("Not submitted: see egress.").waitFor();
  await ui.judge(/422/);
});

test("a preset's way out holds until the form says otherwise, and editing the preset keeps it", async () => {
  await using ui = await rig.open(`/ui/captures/new?url=${rig.site}/page&preset=e-public`);
  const { page } = ui;
  await openGroup(page);
  await until("the preset's mode", 60_000, async () => {
    return (await mode(page).inputValue()) === "Public addresses only";
  });
  expect(await box(page, "Server of the proxy").inputValue()).toBe(PROXY);
  await page.getByText("Preset public.").waitFor();
  await box(page, "Server of the proxy").fill("");
  await page.getByText('"proxy": null').waitFor();

  await page.goto(`${rig.url}/ui/library/presets?edit=e-public`);
  await page.getByRole("button", { name: "Network" }).click();
  await box(page, "Never to").fill("ads.example");
  await page.getByRole("button", { name: "Save preset" }).click();
  await page.getByText("Preset e-public stored").waitFor();
  expect((await rig.api<Preset>("GET", "/presets/e-public")).options).toEqual({
    egress: { mode: "public", allow: [], deny: ["ads.example"] },
    proxy: PROXY,
    scroll: true,
  });
  await ui.judge();
});

test("a host is given a proxy, keeps its login for the same server alone, and loses it (rules/hosts#replace-a-host)", async () => {
  await rig.api("PUT", `/hosts/${HOST}`, {});
  const stored = async () => (await rig.api<Host>("GET", `/hosts/${HOST}`)).proxy;
  await using ui = await rig.open(`/ui/library/hosts/${HOST}?tab=settings`);
  const { page } = ui;
  const save = page.getByRole("button", { name: "Save settings" });
  const saved = async () => {
    await save.click();
    await page.getByText("The settings were saved").first().waitFor();
    await page.locator("button[data-disabled]", { hasText: "Save settings" }).waitFor();
  };
  await box(page, "Server of the proxy").fill(PROXY);
  await box(page, "User name").fill("me");
  await password(page).fill("hush");
  await saved();
  expect(await stored()).toMatchObject({ server: PROXY, username: "***", password: "***" });
  expect(await password(page).inputValue()).toBe("***");

  await box(page, "Without the proxy").fill(".example.com");
  await saved();
  expect(await stored()).toMatchObject({ username: "***", bypass: ".example.com" });
  await box(page, "Server of the proxy").fill("http://127.0.0.1:10");
  await save.click();
  const field = page.getByRole("group", { name: "Proxy" });
  await field.getByText("none is stored for this server: give user name and password").waitFor();
  await ui.judge(/422/);

  await box(page, "Server of the proxy").fill("");
  await saved();
  expect(await stored()).toBeNull();
});
