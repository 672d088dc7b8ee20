import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { rootCertificates } from "node:tls";
import type { Page } from "playwright-core";
import type { Host } from "#shared/protocol/schema/host.ts";
import type { Job } from "#shared/protocol/schema/job.ts";
import type { Preset } from "#shared/protocol/schema/preset.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { type UiRig, uiRig } from "#test/support/rigs/ui-rig.ts";

/** What pages see and load, in the forms of jobs, presets and hosts (rules/browser-options#the-options). */

setDefaultTimeout(180_000);

const HOST = "e-browser.example";
const PRESET = "e-small";
const STORED = {
  viewport: { width: 640, height: 480 },
  permissions: ["camera"],
  javascript: false,
};

let rig: UiRig;
const made: string[] = [];
beforeAll(async () => {
  rig = await uiRig();
  await rig.api("PUT", `/presets/${PRESET}`, { options: STORED });
  await rig.api("PUT", `/hosts/${HOST}`, {});
});
afterAll(async () => {
  for (const job_id of made) await rig.api("DELETE", `/jobs/${job_id}`);
  await rig.api("DELETE", `/presets/${PRESET}`);
  await rig.api("DELETE", `/hosts/${HOST}`);
});

const box = (page: Page, name: string) => page.getByRole("textbox", { name, exact: true });
/** Labels of options have their name behind them. */
const locale = (page: Page) => page.getByRole("textbox", { name: "Locale locale" });
const open = (page: Page, group: string) => page.getByRole("button", { name: group }).click();

async function choose(page: Page, field: string, option: string): Promise<void> {
  await page.getByRole("combobox", { name: field }).click();
  await page.getByRole("option", { name: option, exact: true }).click();
}

async function submitted(page: Page): Promise<Job> {
  await page.getByRole("button", { name: "Submit the job" }).click();
  await page.waitForURL(/\/ui\/captures\/(?!new)[^/?]+(\?|$)/);
  const job_id = new URL(page.url()).pathname.split("/").at(-1) ?? "";
  made.push(job_id);
  return rig.api<Job>("GET", `/jobs/${job_id}`);
}

const [AUTHORITY = ""] = rootCertificates;
const SAID = {
  viewport: { width: 800, height: 1_080 },
  geolocation: { latitude: 52.5, longitude: 13.25, accuracy: 0 },
  permissions: ["geolocation"],
  extra_headers: { "X-Team": "research", "X-Trial": "7" },
  init_scripts: ["globalThis.a = 1;", "globalThis.b = 2;"],
  javascript: true,
  ignore_https_errors: true,
  certificate_authorities: AUTHORITY,
  block: {
    ads: true,
    types: ["image"],
    hosts: ["ads.example", "tracker.example"],
    patterns: ["*/banner/*"],
  },
};

test("a job is given every option of several values, and another one takes them from it", async () => {
  await using ui = await rig.open(`/ui/captures/new?url=${rig.site}/page&max_wait_seconds=5`);
  const { page } = ui;
  await open(page, "What pages see");
  await box(page, "Width of the page, px").fill("800");
  await box(page, "Latitude").fill("52.5");
  await box(page, "Longitude").fill("13.25");
  await choose(page, "Permissions", "geolocation");
  await page.keyboard.press("Escape");
  await box(page, "Extra headers, one in each line").pressSequentially(
    "X-Team: research\nX-Trial: 7\n",
  );
  await box(page, "Script 1").fill("globalThis.a = 1;");
  await open(page, "Add a script");
  await box(page, "Script 2").fill("globalThis.b = 2;");
  await choose(page, "JavaScript", "Yes");
  await open(page, "Network");
  await page.getByRole("switch", { name: "Ads and analytics" }).click();
  await choose(page, "Kinds of requests", "image");
  await page.keyboard.press("Escape");
  await box(page, "Hosts").pressSequentially("ads.example, tracker.example,");
  await box(page, "Patterns").fill("*/banner/*");
  await choose(page, "Ignore HTTPS errors", "Yes");
  await page.getByRole("textbox", { name: "Certificate authorities" }).fill(AUTHORITY);
  await ui.judge();
  const { job_id, options } = await submitted(page);
  expect(options).toMatchObject(SAID);

  await page.goto(`${rig.url}/ui/captures/new?from=${job_id}`);
  await page.getByRole("button", { name: "What pages see" }).getByText("6 changed").waitFor();
  expect((await submitted(page)).options).toEqual(options);
});

test("a value that breaks a rule is said at its field, also in a folded group", async () => {
  await using ui = await rig.open(`/ui/captures/new?url=${rig.site}/page`);
  const { page } = ui;
  await open(page, "What pages see");
  await box(page, "Latitude").fill("91");
  await open(page, "What pages see");
  const submit = page.getByRole("button", { name: "Submit the job" });
  await submit.click();
  await page.getByText("Not submitted: see geolocation.").waitFor();
  const place = page.getByRole("group", { name: "Geolocation" });
  await place.getByRole("alert").waitFor();
  await box(page, "Latitude").fill("52");
  await place.getByRole("alert").waitFor({ state: "detached" });
  await box(page, "Longitude").fill("13");
  await box(page, "Extra headers, one in each line").fill("Cookie: a=b");
  await submit.click();
  await page.getByText("must not have a header with a secret").waitFor();
  await ui.judge(/422/);
});

test("editing a preset keeps what its form does not touch, and a job can take it away", async () => {
  await using ui = await rig.open(`/ui/library/presets?edit=${PRESET}`);
  const { page } = ui;
  await open(page, "What pages see");
  expect(await box(page, "Width of the page, px").inputValue()).toBe("640");
  await locale(page).fill("de-DE");
  await page.getByRole("button", { name: "Save preset" }).click();
  await page.getByText(`Preset ${PRESET} stored`).waitFor();
  const stored = await rig.api<Preset>("GET", `/presets/${PRESET}`);
  expect(stored.options).toEqual({ ...STORED, locale: "de-DE" });

  await page.goto(
    `${rig.url}/ui/captures/new?url=${rig.site}/page&preset=${PRESET}&max_wait_seconds=5`,
  );
  await open(page, "What pages see");
  await page.getByText("Preset 640 × 480.").waitFor();
  await box(page, "Width of the page, px").fill("");
  await box(page, "Height of the page, px").fill("");
  await choose(page, "JavaScript", "Not set");
  await ui.judge();
  expect((await submitted(page)).options).toMatchObject({
    viewport: null,
    javascript: null,
    permissions: ["camera"],
  });
});

test("a host is given options, keeps them when something else is saved, and loses them (rules/hosts#replace-a-host)", async () => {
  const stored = async () => {
    const { notes, browser_options } = await rig.api<Host>("GET", `/hosts/${HOST}`);
    return { notes, browser_options };
  };
  await using ui = await rig.open(`/ui/library/hosts/${HOST}?tab=settings`);
  const { page } = ui;
  const save = page.getByRole("button", { name: "Save settings" });
  const saved = async (want: Pick<Host, "notes" | "browser_options">) => {
    await save.click();
    await until("what is saved", 60_000, async () => Bun.deepEquals(await stored(), want));
    // The button is disabled while it saves, too.
    await until("the saved form", 60_000, () => save.isDisabled());
  };
  await open(page, "What pages see and load");
  await box(page, "User at the server").fill("me");
  await box(page, "Password placeholder").fill("hush");
  await save.click();
  await page.getByRole("alert").getByText("must be a placeholder").first().waitFor();
  await ui.judge(/422/);
  await box(page, "User at the server").fill("");
  await box(page, "Password placeholder").fill("");
  await choose(page, "Color scheme", "dark");
  const browser_options = { color_scheme: "dark" } as const;
  await saved({ notes: "", browser_options });
  await page.getByRole("textbox", { name: "Notes" }).fill("a note");
  await saved({ notes: "a note", browser_options });
  await page.locator('[aria-label="Clear color_scheme"]').click();
  await saved({ notes: "a note", browser_options: null });
});
