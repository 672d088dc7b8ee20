import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { Page } from "playwright-core";
import { z } from "zod";
import { type Job, JobOptions } from "#shared/protocol/schema/job.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { type UiPage, type UiRig, uiRig } from "#test/support/rigs/ui-rig.ts";

/** The submit page: every option of rules/job-options#the-options, and what POST /jobs answers (rules/jobs#submit-a-job). */

setDefaultTimeout(180_000);

const HOSTILE = "<img src=x onerror=alert(1)>";
const FAST = { idle_seconds: 0, max_wait_seconds: 5 };

let rig: UiRig;
const made: string[] = [];
beforeAll(async () => {
  rig = await uiRig();
  const engine = { endpoint: "http://127.0.0.1:9/v1", model: "m" };
  await rig.api("PUT", "/engines/b-coder", { ...engine, name: HOSTILE, use_for_codegen: true });
  await rig.api("PUT", "/engines/b-talker", { ...engine, name: "Talker" });
  await rig.api("PUT", "/presets/b-scroll", {
    name: HOSTILE,
    options: { ...FAST, scroll: true, scroll_max: 400 },
  });
});
afterAll(async () => {
  for (const path of ["/engines/b-coder", "/engines/b-talker", "/presets/b-scroll"])
    await rig.api("DELETE", path);
  for (const job_id of made) await rig.api("DELETE", `/jobs/${job_id}`);
});

const number = (page: Page, name: string) =>
  page.getByRole("textbox", { name: new RegExp(`\\b${name}$`) });
const group = (page: Page, title: string) => page.getByRole("button", { name: title });
const submit = (page: Page) => page.getByRole("button", { name: "Submit the job" }).click();

/** The job that the page went to. */
async function jobOf({ page }: UiPage): Promise<Job> {
  await page.waitForURL(/\/ui\/captures\/(?!new)[^/?]+(\?|$)/);
  const job_id = new URL(page.url()).pathname.split("/").at(-1) ?? "";
  made.push(job_id);
  return rig.api<Job>("GET", `/jobs/${job_id}`);
}

test("every option is in the form, with its default and bounds (rules/web-app#forms-of-the-app)", async () => {
  await using ui = await rig.open("/ui/captures/new");
  const { page } = ui;
  const seen = new Set<string>();
  for (const mode of ["Rerun a script", "AI investigation", "Fetch"]) {
    await page.getByRole("radiogroup").getByText(mode).click();
    const folded = page.locator("button[aria-expanded=false][data-accordion-control]");
    while ((await folded.count()) > 0) await folded.first().click();
    for (const name of await page.locator(".option-name").allTextContents()) seen.add(name);
  }
  const { fetch_recipe: _, ...mine } = z.toJSONSchema(JobOptions, { io: "input" }).properties ?? {};
  expect([...seen].sort()).toEqual(Object.keys(mine).sort());
  await page.getByText("Default 20 s, from 0 to 3,600 s.").waitFor();
  await ui.judge();
});

test("what was filled in is the job, and its page is shown (rules/jobs#submit-a-job)", async () => {
  await using ui = await rig.open("/ui/captures/new");
  const { page } = ui;
  await page.getByRole("textbox", { name: "Address" }).fill(`${rig.site}/page?b=form`);
  await group(page, "Waiting").click();
  await number(page, "idle_seconds").fill("0.5");
  await number(page, "max_wait_seconds").fill("5");
  await group(page, "Browser").click();
  await page.getByRole("switch", { name: /\bheadless$/ }).click();
  await page.getByText('"headless": true').waitFor();
  await submit(page);
  const job = await jobOf(ui);
  expect(job.url).toBe(`${rig.site}/page?b=form`);
  expect(job.options).toMatchObject({ idle_seconds: 0.5, max_wait_seconds: 5, headless: true });
});

test("AI investigation is codegen-loop, with the engines for code alone (rules/job-options#investigations-by-a-model)", async () => {
  await using ui = await rig.open(`/ui/captures/new?url=${rig.site}/page`);
  const { page } = ui;
  await page.getByRole("radiogroup").getByText("AI investigation").click();
  await submit(page);
  await page.getByText("is required when mode is codegen-loop").waitFor();
  await page.getByRole("textbox", { name: /\bgoal$/ }).fill("Say hello");
  await page.getByRole("combobox", { name: /\bcodegen_engine$/ }).click();
  await page.getByRole("option", { name: "auto" }).waitFor();
  expect(await page.getByRole("option", { name: "Talker" }).count()).toBe(0);
  await page.getByRole("option", { name: HOSTILE }).click();
  await submit(page);
  expect((await jobOf(ui)).options).toMatchObject({
    ...{ mode: "codegen-loop", goal: "Say hello", codegen_engine: "b-coder" },
  });
  await ui.judge(/422/);
});

test("what the API refuses is said at its field, also in a folded group (rules/web-app#forms-of-the-app)", async () => {
  await using ui = await rig.open(
    "/ui/captures/new?url=ftp://a.test/&wait_seconds=99999&attach=nowhere",
  );
  const { page } = ui;
  await submit(page);
  await page.getByText("scheme ftp: is not allowed").waitFor();
  await page.getByText("must be [HOST:]PORT").waitFor();
  await until("the mark of its field", 60_000, async () => {
    return (await number(page, "wait_seconds").getAttribute("aria-invalid")) === "true";
  });
  await page.getByText("Not submitted: see url, ").waitFor();
  await page.getByRole("button", { name: "Reset the options" }).click();
  await page.getByText('"wait_seconds"').waitFor({ state: "detached" });
  await ui.judge(/422/);
});

test("the options of an earlier job are submitted again, changed", async () => {
  const code = 'log("it\'s <b>hostile</b>");';
  const earlier = await rig.api<Job>("POST", "/jobs", {
    url: `${rig.site}/page?b=earlier`,
    options: { mode: "rerun", code, attempt_timeout_s: 60 },
  });
  made.push(earlier.job_id);
  await using ui = await rig.open(`/ui/captures/new?from=${earlier.job_id}`);
  const { page } = ui;
  await group(page, "Scripts").click();
  await until("the option of the earlier job", 60_000, async () => {
    return (await number(page, "attempt_timeout_s").inputValue()) === "60 s";
  });
  await number(page, "attempt_timeout_s").fill("90");
  // Ready for a shell: the quote of the script does not end the argument.
  await page.getByText("it'\\''s <b>hostile</b>").waitFor();
  await submit(page);
  const job = await jobOf(ui);
  expect(job.job_id).not.toBe(earlier.job_id);
  expect(job.options).toEqual({ ...earlier.options, attempt_timeout_s: 90 });
});

test("a preset's options hold where the form says nothing; its name is only text", async () => {
  await using ui = await rig.open(`/ui/captures/new?url=${rig.site}/page&preset=b-scroll`);
  const { page } = ui;
  const preset = page.getByRole("combobox", { name: "Preset" });
  await until("the preset's name", 60_000, async () => {
    return (await preset.inputValue()) === `${HOSTILE} (b-scroll)`;
  });
  await group(page, "Scrolling").click();
  await page.getByText("Preset 400 px").waitFor();
  await number(page, "scroll_step").fill("200");
  await submit(page);
  expect((await jobOf(ui)).options).toMatchObject({
    ...FAST,
    ...{ scroll: true, scroll_max: 400, scroll_step: 200 },
  });
});

test("at capacity the job stays queued, and its page is shown all the same (rules/jobs#at-capacity)", async () => {
  const queued = await rig.api<Job>("POST", "/jobs", {
    url: `${rig.site}/page?b=queued`,
    options: FAST,
  });
  made.push(queued.job_id);
  await using ui = await rig.open(`/ui/captures/new?url=${rig.site}/page`);
  const { page } = ui;
  await page.route("**/jobs", (route) =>
    route.fulfill({
      status: 503,
      json: { detail: "fleet at capacity", job_id: queued.job_id },
    }),
  );
  await page.getByRole("textbox", { name: "Address" }).press("Control+Enter");
  await page.getByText("No lane is free now. The job waits in the queue.").waitFor();
  await page.waitForURL(`**/ui/captures/${queued.job_id}`);
});
