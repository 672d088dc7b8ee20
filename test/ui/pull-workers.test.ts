import { beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { until } from "#test/support/rigs/fleet-process.ts";
import { addUiWorkload, uiPuller } from "#test/support/rigs/ui-puller.ts";
import { type UiRig, uiRig } from "#test/support/rigs/ui-rig.ts";

/** Pull workers, their filter and their commands, in the admin UI (rules/pipeline-pull#list-pull-workers). */

setDefaultTimeout(180_000);

let rig: UiRig;
beforeAll(async () => {
  rig = await uiRig();
});

const HOSTILE = "<img src=x onerror=alert(1)>";

test("the list leads to a worker's slots, leases, output and load; a hostile host is text (rules/pipeline-pull#list-pull-workers)", async () => {
  // A lease that outlasts the test.
  await addUiWorkload(rig, "g-held", HOSTILE, { lease_secs: 1_800 });
  await rig.api("POST", "/api/v1/workloads/g-held/tasks", { pk: '"><script>alert(1)</script>' });
  const worker = await uiPuller(rig, "g-holder", { host: HOSTILE }, ["g-held"]);
  const [held] = await worker.claim(1);
  const beat = () =>
    worker.call("heartbeat", {
      in_flight: [{ ...held, workload: "g-held" }],
      ...{ cpu_percent: 12, host_cpu_percent: 93, mem_percent: 40 },
      gpus: [{ index: 0, name: "Card", util_percent: 71, mem_used_mb: 1_000, mem_total_mb: 4_000 }],
    });
  const print = () =>
    worker.call("runs/logs", {
      items: [
        {
          ...{ ...held, workload: "g-held", pk: "one", attempt: 1, running_ms: 10 },
          stdout: `${HOSTILE} printed`,
        },
      ],
    });
  await beat();
  await using ui = await rig.open("/ui/system/workers?kind=pipeline");
  await ui.page.locator("[data-filter]").waitFor();
  await ui.page.keyboard.press("/");
  await ui.page.keyboard.type("g-hold");
  const row = ui.page.getByRole("row", { name: /g-holder/ });
  await row.getByText("1 of 3").waitFor();
  await row.getByText(HOSTILE).waitFor();
  await row.getByText("differs").waitFor();
  expect(ui.page.url()).toContain("q=g-hold");
  await row.focus();
  await ui.page.keyboard.press("Enter");
  const drawer = ui.page.getByRole("region", { name: /g-holder/ });
  await drawer.getByText('"><script>alert(1)</script>').waitFor();
  await drawer
    .getByText(/^(\d+ min|\d+ s)$/)
    .first()
    .waitFor();
  // A worker goes on telling: what it said a while ago is forgotten.
  await until("what its task prints", 60_000, async () => {
    await beat();
    await print();
    return drawer.getByText(`${HOSTILE} printed`).first().isVisible();
  });
  await drawer.getByText("1.0 GB of 4.0 GB").waitFor();
  await beat();
  await ui.page.reload();
  await drawer.getByText("71 % in use").waitFor();
  await ui.judge();
});

test("drain, resume, recycle and stop are told to the worker (rules/pipeline-pull#commands-to-a-worker)", async () => {
  const worker = await uiPuller(rig, "g-told", {}, []);
  const told = async () => {
    const { commands } = await worker.call<{ commands: { command: string }[] }>("heartbeat");
    return commands.map(({ command }) => command);
  };
  const state = async () => (await worker.read())?.state;
  await using ui = await rig.open("/ui/system/workers?kind=pipeline&worker=g-told");
  const drawer = ui.page.getByRole("region", { name: /g-told/ });
  await drawer.getByRole("button", { name: "Drain" }).click();
  await until("the drain", 60_000, async () => (await state()) === "draining");
  await drawer.getByRole("button", { name: "Resume" }).click();
  await until("the end of it", 60_000, async () => (await state()) === "active");
  await drawer.getByRole("button", { name: "Recycle processes" }).click();
  await until("recycle", 60_000, async () => (await told()).includes("recycle"));
  await drawer.getByRole("button", { name: "Stop", exact: true }).click();
  const question = ui.page.getByRole("dialog", { name: "Stop g-told?" });
  await question.getByRole("button", { name: "Stop", exact: true }).click();
  await until("stop", 60_000, async () => (await told()).includes("stop"));
});

test("the filter is added to, taken from, replaced, and taken away (rules/pipeline-pull#filters)", async () => {
  for (const slug of ["g-filter-a", "g-filter-b"]) await addUiWorkload(rig, slug, "g-filtered");
  const worker = await uiPuller(rig, "g-filtered", {}, ["g-filter-a"]);
  const filter = async () => (await worker.read())?.filter ?? null;
  await using ui = await rig.open("/ui/system/workers?kind=pipeline&worker=g-filtered");
  const drawer = ui.page.getByRole("region", { name: /g-filtered/ });
  const change = async (op: string, slug: string) => {
    await drawer.getByText(op, { exact: true }).click();
    await drawer.getByRole("combobox", { name: "Workloads" }).click();
    await ui.page.getByRole("option", { name: slug }).click();
    await drawer.getByRole("button", { name: "Change the filter" }).click();
  };
  await change("Add", "g-filter-b");
  await until("both", 60_000, async () => (await filter())?.length === 2);
  await change("Remove", "g-filter-a");
  await until("one", 60_000, async () => (await filter())?.join() === "g-filter-b");
  await change("Replace", "g-filter-a");
  await until("the other", 60_000, async () => (await filter())?.join() === "g-filter-a");
  await drawer.getByRole("button", { name: "Run every workload" }).click();
  await ui.page
    .getByRole("dialog", { name: "Let g-filtered run every workload?" })
    .getByRole("button", { name: "Run every workload" })
    .click();
  await until("every one", 60_000, async () => (await filter()) === null);
  await ui.judge();
});

test("a restart over SSH asks for the administrator, and says when it cannot be (rules/pipeline-agents#restart-a-worker-over-ssh)", async () => {
  await uiPuller(rig, "g-ssh", {}, []);
  await using ui = await rig.open("/ui/system/workers?kind=pipeline&worker=g-ssh");
  await ui.page.getByRole("button", { name: "Restart over SSH" }).click();
  await ui.page.getByRole("button", { name: "Restart it" }).click();
  const login = ui.page.getByRole("dialog", { name: "Only the administrator may do this" });
  await login.getByLabel("Administrator's password").fill("wrong");
  await login.getByRole("button", { name: "Log in" }).click();
  await login.getByText("That is not the password.").waitFor();
  await login.getByLabel("Administrator's password").fill(rig.admin_password);
  await login.getByRole("button", { name: "Log in" }).click();
  // Dev mode has no host in SVC_SSH_HOSTS.
  await ui.page.getByText("The worker was not restarted").waitFor();
  await ui.judge(/status of 40[149]/);
});
