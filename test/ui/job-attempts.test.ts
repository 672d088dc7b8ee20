import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { Attempt } from "#shared/protocol/schema/attempt.ts";
import type { Host } from "#shared/protocol/schema/host.ts";
import type { Job } from "#shared/protocol/schema/job.ts";
import type { Skill } from "#shared/protocol/schema/skill.ts";
import { script, verdict } from "#test/support/rigs/codegen-rig.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { type UiRig, uiRig } from "#test/support/rigs/ui-rig.ts";
import { type LlmServer, startLlmServer } from "#test/support/servers/llm-server.ts";

/** What a codegen-loop job tried, in its page: an engine over HTTP, real scripts, a hostile one (rules/scripts#attempts). */

setDefaultTimeout(240_000);

const EVIL = "<img src=x onerror=alert(1)>";
const FIRST = `import { session } from "flotilla";
console.log("${EVIL}");
throw new Error("${EVIL} broke");`;
const SECOND = `import { session } from "flotilla";
console.log("${EVIL}");
await session.click("#go");
export default { said: "${EVIL}" };`;
const ENGINE = "c-attempts";

let rig: UiRig;
let llm: LlmServer;
let site: ReturnType<typeof Bun.serve>;
let job: Job;

beforeAll(async () => {
  const plans = [script(FIRST), script(SECOND)];
  llm = await startLlmServer({
    handler: ({ body }) =>
      JSON.stringify(body).includes("You judge whether")
        ? verdict("success")
        : (plans.shift() ?? { kind: "status", status: 500 }),
  });
  site = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: () =>
      new Response(
        '<!doctype html><html lang="en"><title>Form</title><button id="go">Go</button>',
        {
          headers: { "content-type": "text/html" },
        },
      ),
  });
  rig = await uiRig();
  await rig.api("PUT", `/engines/${ENGINE}`, {
    ...{ endpoint: llm.url, model: "test", use_for_codegen: true },
  });
  const { job_id } = await rig.api<Job>("POST", "/jobs", {
    url: new URL("/c-attempts", site.url).href,
    options: {
      mode: "codegen-loop",
      goal: `press ${EVIL}`,
      codegen_engine: ENGINE,
      prove_in_replay: true,
    },
  });
  job = await ended(job_id);
}, 240_000);
afterAll(async () => {
  await rig?.api("DELETE", `/engines/${ENGINE}`);
  await site?.stop(true);
  await llm?.stop();
}, 180_000);

const ended = (job_id: string) =>
  until(`the end of ${job_id}`, 150_000, async () => {
    const now = await rig.api<Job>("GET", `/jobs/${job_id}`);
    return now.finished_at === null ? undefined : now;
  });

test("attempts are shown with script, changes, output, picture and verdict; hostile output is text (rules/scripts#attempts)", async () => {
  expect(job).toMatchObject({ status: "completed", attempts: 2 });
  await using ui = await rig.open(`/ui/captures/${job.job_id}?tab=attempts`);
  const { page } = ui;
  let dialogs = 0;
  page.on("dialog", (dialog) => {
    dialogs += 1;
    void dialog.dismiss();
  });
  await page.getByText("Attempt 2: success", { exact: true }).waitFor();
  const panel = page.getByRole("tabpanel", { name: "Attempts" });
  await panel.getByText("judged success").waitFor();
  // The answer comes first, with who has checked it.
  const answer = page.getByRole("region", { name: "Answer" });
  await answer.getByText(`press ${EVIL}`).waitFor();
  await answer.getByText(EVIL, { exact: true }).waitFor();
  await answer.getByText(/^Checked by /).waitFor();
  await answer.getByText(/2 attempts · \d+ tokens/).waitFor();
  await answer.getByRole("button", { name: "JSON" }).click();
  await answer.getByText(`"said": "${EVIL}"`).waitFor();
  // Planned, and judged in the replay and on the site.
  await page.getByText(/33 tokens in, 21 out/).waitFor();
  await panel.getByText("It was proved in a replay of the capture, and then ran on").waitFor();
  const { proof } = await rig.api<Attempt>("GET", `/jobs/${job.job_id}/attempts/2`);
  const replay = panel.getByRole("link", { name: "Play the replay" });
  expect(await replay.getAttribute("href")).toBe(`/ui/browsers/${proof?.session_id}`);
  await page.getByRole("tab", { name: "Changes to attempt 1" }).click();
  const changes = page.getByRole("region", { name: "Changes of the script" });
  await changes.locator("[data-kind=added]").getByText('session.click("#go")').waitFor();
  await changes
    .locator("[data-kind=removed]")
    .getByText(`throw new Error("${EVIL} broke")`)
    .waitFor();
  await ui.judge();
  await page.getByRole("tab", { name: "Output" }).click();
  await panel.getByText(`"said": "${EVIL}"`).waitFor();
  await panel.getByText(EVIL, { exact: true }).waitFor();
  await page.getByRole("tab", { name: "Screenshot and page" }).click();
  const picture = page.getByRole("img", { name: "The page after attempt 2" });
  await until("the picture", 60_000, () =>
    picture.evaluate((img) => (img as unknown as { naturalWidth: number }).naturalWidth > 0),
  );
  await page.getByRole("tab", { name: "Reply" }).click();
  await page.getByText("Here it is").waitFor();

  await page.getByRole("button", { name: /^Attempt 1/ }).click();
  await page.getByText("Attempt 1: script error", { exact: true }).waitFor();
  expect(await replay.count()).toBe(0);
  await page.getByRole("tab", { name: "Output" }).click();
  await page.getByText(`${EVIL} broke`).first().waitFor();
  await page.reload();
  await page.getByText("Attempt 1: script error", { exact: true }).waitFor();
  await ui.judge();
  expect(dialogs).toBe(0);
});

test("what a good script offers is saved from here: the skill and the recipe of the host (rules/scripts#offers)", async () => {
  await using ui = await rig.open(`/ui/captures/${job.job_id}?tab=attempts`);
  const { page } = ui;
  const skill = async () => {
    const { skills } = await rig.api<{ skills: Skill[] }>("GET", "/skills");
    return skills.find(({ created_from_job }) => created_from_job === job.job_id);
  };
  const recipe = async () => {
    const { recipes } = await rig.api<Host>("GET", "/hosts/127.0.0.1");
    return recipes.find(({ created_from_job }) => created_from_job === job.job_id);
  };
  expect([(await skill())?.tags, (await recipe())?.enabled]).toEqual([["offered"], false]);
  await page.getByRole("button", { name: "Save the skill" }).click();
  await until("the skill", 60_000, async () => (await skill())?.tags.length === 0);
  await page.getByRole("button", { name: "Save the recipe" }).click();
  await until("the recipe", 60_000, async () => (await recipe())?.enabled === true);
  await page.getByText("Worth keeping for later jobs").waitFor({ state: "hidden" });
  expect((await recipe())?.actions).toEqual([{ kind: "click", selector: "#go" }]);
  expect((await skill())?.code).toBe(`${SECOND}\n`);
  await ui.judge();
  await rig.api("DELETE", `/skills/${(await skill())?.slug}`);
  const { recipes } = await rig.api<Host>("GET", "/hosts/127.0.0.1");
  const at = recipes.findIndex(({ created_from_job }) => created_from_job === job.job_id);
  await rig.api("DELETE", `/hosts/127.0.0.1/recipes/${at}`);
});

test("the job's script and the script of one attempt are run again as jobs of their own (rules/scripts#rerun)", async () => {
  await using ui = await rig.open(`/ui/captures/${job.job_id}?tab=attempts&attempt=1`);
  const { page } = ui;
  await page.getByText("Attempt 1: script error", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Run this script again" }).click();
  await page.waitForURL((url) => !url.pathname.endsWith(job.job_id));
  const one = await ended(page.url().replace(/\?.*/, "").split("/").at(-1) ?? "");
  expect(one).toMatchObject({ mode: "rerun", status: "failed", url: job.url });
  expect(one.options.rerun_from).toBe(`${job.job_id}/attempts/1`);
  await page.getByText(`${EVIL} broke`).first().waitFor();
  const { script: ran } = await rig.api<Attempt>("GET", `/jobs/${one.job_id}/attempts/1`);
  expect(ran).toBe(`${FIRST}\n`);

  await page.goto(new URL(`/ui/captures/${job.job_id}`, page.url()).href);
  await page.getByRole("button", { name: "Run its script again" }).click();
  await page.waitForURL((url) => !url.pathname.endsWith(job.job_id));
  const whole = await ended(page.url().split("/").at(-1) ?? "");
  expect(whole).toMatchObject({ mode: "rerun", status: "completed" });
  expect(whole.options.rerun_from).toBe(job.job_id);
  await ui.judge();
});
