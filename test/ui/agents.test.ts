import { beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { systemClock } from "#shared/kit/clock.ts";
import { silentLog } from "#shared/kit/log.ts";
import { startLoop } from "#shared/kit/loop.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { type UiPage, type UiRig, uiRig } from "#test/support/rigs/ui-rig.ts";

/** Agents and elastic workers in the admin UI (rules/pipeline-agents#host-agents). */

setDefaultTimeout(180_000);

let rig: UiRig;
beforeAll(async () => {
  rig = await uiRig();
});

const HOSTILE = "<img src=x onerror=alert(1)>";

interface Row {
  instance_id: string;
  host: string;
  desired: string;
}
const wanted = async (host: string) => {
  const { instances } = await rig.api<{ instances: Row[] }>(
    "GET",
    "/api/v1/workers/elastic/inventory",
  );
  return instances.filter((one) => one.host === host && one.desired === "running");
};

/** An agent that is heard of again and again stays connected, however slow the machine is. */
function beating(sync: () => Promise<unknown>): AsyncDisposable {
  const pass = async () => void (await sync());
  const loop = startLoop({
    name: "agent",
    everyMs: 5_000,
    clock: systemClock,
    log: silentLog,
    pass,
  });
  return { [Symbol.asyncDispose]: () => loop.stop() };
}

async function logIn({ page }: UiPage) {
  const login = page.getByRole("dialog", { name: "Only the administrator may do this" });
  await login.getByLabel("Administrator's password").fill(rig.admin_password);
  await login.getByRole("button", { name: "Log in" }).click();
}

test("instances are started on a host, shown as its agent reports them, and stopped (rules/pipeline-agents#spawn-instances)", async () => {
  const host = "g-rack";
  let children: Record<string, unknown>[] = [];
  const sync = (now = children) => {
    children = now;
    return rig.api<{ desired: { instances: { instance_id: string; args: string[] }[] } }>(
      "POST",
      `/api/v1/agents/${host}/sync`,
      {
        ...{ agent_id: "agent-of-g-rack", version: HOSTILE, children },
        gpus: [{ index: 0, name: HOSTILE, util_percent: 33, mem_used_mb: 1, mem_total_mb: 2 }],
      },
    );
  };
  await sync();
  await using _ = beating(sync);
  await rig.api("POST", "/api/v1/workloads", {
    ...{ slug: "g-elastic", executor_type: "command", executor_config: { argv: ["true"] } },
  });
  await using ui = await rig.open("/ui/system/agents");
  const { page } = ui;
  const card = page.getByRole("region", { name: `Agent of ${host}` });
  await card.getByText(`GPU 0: ${HOSTILE}`).waitFor();

  await page.getByRole("button", { name: "Start workers" }).click();
  const form = page.getByRole("dialog", { name: "Start workers on a host" });
  await form.getByRole("combobox", { name: "Host" }).click();
  await page.getByRole("option", { name: host }).click();
  await form.getByLabel("How many").fill("3");
  await form.getByLabel("Slots per worker").fill("2");
  await form.getByRole("combobox", { name: "Workloads" }).click();
  await page.getByRole("option", { name: "g-elastic" }).click();
  await page.keyboard.press("Escape");
  await form.getByRole("button", { name: "Start", exact: true }).click();
  await logIn(ui);
  await until("three instances", 60_000, async () => (await wanted(host)).length === 3);
  const { desired } = await sync();
  expect(desired.instances[0]?.args).toEqual(["--slots=2", "--workloads=g-elastic"]);
  const [first = "", second = ""] = desired.instances.map(({ instance_id }) => instance_id);
  await sync([
    { instance_id: first, pid: 42, state: "running", started_at: new Date().toISOString() },
    { instance_id: second, state: "backoff", exit_code: 3, restarts: 2 },
  ]);
  await card.getByText("1 of 3 running, restarted 2 times").waitFor();
  const row = (id: string) => page.getByRole("row", { name: new RegExp(id) });
  await row(second).getByText("exit 3").waitFor();
  await ui.judge(/status of 401/);

  await row(first).getByRole("button", { name: "Stop" }).click();
  await page.getByRole("button", { name: "Stop it" }).click();
  await until("one less", 60_000, async () =>
    (await wanted(host)).every(({ instance_id }) => instance_id !== first),
  );
  await card.getByLabel(`How many instances of ${host} to stop`).fill("2");
  await card.getByRole("button", { name: "Stop the newest" }).click();
  await page.getByRole("button", { name: "Stop 2" }).click();
  await until("none", 60_000, async () => (await wanted(host)).length === 0);
});

test("a refused start says why in the form, which a next one has forgotten; one or several are started (rules/pipeline-agents#spawn-instances)", async () => {
  const sync = () =>
    rig.api("POST", "/api/v1/agents/g-other/sync", { agent_id: "agent-of-g-other" });
  await sync();
  await using _ = beating(sync);
  await using ui = await rig.open("/ui/system/agents");
  await ui.page.getByRole("button", { name: "Start workers" }).click();
  const form = ui.page.getByRole("dialog", { name: "Start workers on a host" });
  await form.getByLabel("Name").fill("no such name!");
  await form.getByRole("button", { name: "Start", exact: true }).click();
  await form.getByText("must be 1 to 64 letters").waitFor();
  await form.locator("input:focus").and(form.getByLabel("Name")).waitFor();
  await ui.page.keyboard.press("Escape");
  await form.waitFor({ state: "hidden" });
  await ui.page.getByRole("button", { name: "Start workers" }).click();
  await form.getByRole("combobox", { name: "Host" }).click();
  await ui.page.getByRole("option", { name: "g-other" }).click();
  expect(await form.getByText("must be 1 to 64 letters").count()).toBe(0);
  await form.getByLabel("Name").fill("g-named");
  await form.getByRole("button", { name: "Start", exact: true }).click();
  await logIn(ui);
  await form.waitFor({ state: "hidden" });
  expect(await wanted("g-other")).toMatchObject([{ instance_id: "g-named" }]);
  await ui.page.getByRole("button", { name: "Start workers" }).click();
  await form.getByRole("combobox", { name: "Host" }).click();
  await ui.page.getByRole("option", { name: "g-other" }).click();
  await form.getByLabel("Name").fill("g-named");
  await form.getByLabel("How many").fill("201");
  await form.getByRole("button", { name: "Start", exact: true }).click();
  await form.getByText("must be at most 200, not 201").waitFor();
  await ui.judge(/status of 401/);
  await form.getByLabel("How many").fill("2");
  expect(await form.getByLabel("Name").isDisabled()).toBe(true);
  await form.getByRole("button", { name: "Start", exact: true }).click();
  await form.waitFor({ state: "hidden" });
  expect((await wanted("g-other")).length).toBe(3);
});

test("workers are started where an agent is connected, and nowhere else (rules/pipeline-agents#spawn-instances)", async () => {
  await rig.api("POST", "/api/v1/agents/g-gone/sync", { agent_id: "agent-of-g-gone" });
  await using ui = await rig.open("/ui/home");
  const { page } = ui;
  let alive: string[] = [];
  await page.route("**/api/v1/agents", async (route) => {
    const response = await route.fetch();
    const { agents, ...rest } = (await response.json()) as { agents: { host: string }[] };
    const told = agents.map((one) => ({
      ...one,
      state: alive.includes(one.host) ? "active" : "offline",
    }));
    const live = alive.map((host) => ({ ...told[0], host, state: "active" }));
    const gone = told.filter(({ host }) => !alive.includes(host));
    await route.fulfill({ response, json: { ...rest, agents: [...gone, ...live] } });
  });
  await page.goto(`${rig.url}/ui/system/agents`);
  const start = page.getByRole("button", { name: "Start workers" });
  await start.and(page.getByTitle("No agent is connected that could start one")).waitFor();
  expect(await start.isDisabled()).toBe(true);
  alive = ["g-alive"];
  await page.reload();
  await start.click();
  await page.getByRole("combobox", { name: "Host" }).click();
  await page.getByRole("option", { name: "g-alive" }).waitFor();
  const gone = page.getByRole("option", { name: "g-gone (offline)" });
  expect(await gone.getAttribute("data-combobox-disabled")).toBe("true");
  await ui.judge();
});
