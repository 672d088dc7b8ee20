import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { SELF_CHECK } from "#hub/fleet/updates/self-check.ts";
import { UsageError } from "#hub/program/cli/exit.ts";
import type { Terminal } from "#hub/program/cli/print.ts";
import { runClientCommand } from "#hub/program/cli/run-command.ts";
import { checkUpdates } from "#hub/program/commands/doctor/updates.ts";
import type { HubHeartbeatAck } from "#shared/protocol/link/messages.ts";
import type { FleetUpdates } from "#shared/protocol/schema/updates.ts";
import type { FakeWorker, FakeWorkerOptions } from "#test/support/fakes/fake-worker.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";
import type { TestHubOptions } from "#test/support/rigs/hub-options.ts";

/** Which worker takes which version when, seen from the hub (rules/updates#one-worker-after-the-other). */

setDefaultTimeout(180_000);
const PASSWORD = "a password of twelve";
const OLD = "aaaaaaaaaaaa";
/** The hub's. */
const NEW = "bbbbbbbbbbbb";
/** Longer than anything here takes on a busy machine. */
const LONG_S = "600";

let hub: TestHub;
afterEach(() => hub.close());
const start = async ({ env, ...more }: TestHubOptions = {}) => {
  hub = await startTestHub({
    alone: true,
    version: NEW,
    ...more,
    env: { SVC_ADMIN_PASSWORD: PASSWORD, SVC_UPDATE_DEADLINE_S: LONG_S, ...env },
  });
};

let incarnations = 0;
const join = (worker_id: string, version: string, more: FakeWorkerOptions = {}) => {
  incarnations += 1;
  return hub.worker({
    worker_id,
    version,
    waits_for_order: true,
    instance_id: `i${incarnations}`,
    ...more,
  });
};
const orderOf = async (worker: FakeWorker) => (await worker.registered).update;
const told = (worker: FakeWorker, go: boolean) =>
  worker.messages.next((m) => m.type === "HubHeartbeatAck" && m.update?.go === go) as Promise<
    typeof HubHeartbeatAck._output
  >;
const look = () => hub.ctx.rollout.pass();
const admin = (path: string, body?: unknown) =>
  hub.call("POST", `/api/v1/updates/${path}`, body, { headers: { "x-admin-password": PASSWORD } });
const updates = async (): Promise<FleetUpdates> => (await hub.call("GET", "/api/v1/updates")).body;
const updateOf = async (id: string) => (await hub.call("GET", `/workers/${id}`)).body.update;
/** Its process ends, and another one of that version comes. */
const restart = async (worker: FakeWorker, version: string, more?: FakeWorkerOptions) => {
  await worker.close();
  return join(worker.worker_id, version, more);
};

describe("one after the other", () => {
  test("the second worker goes when the first is back with the hub's version and has done a job", async () => {
    await start();
    const [w1, w2] = [await join("w1", OLD), await join("w2", OLD)];
    expect((await orderOf(w2))?.go).toBe(false);
    await look();
    expect((await told(w1, true)).update).toEqual({ target: NEW, go: true });
    expect(await updateOf("w1")).toMatchObject({ target: NEW, state: "starting", error: null });
    expect(await updateOf("w2")).toMatchObject({ target: NEW, state: "held" });
    const again = await restart(w1, NEW);
    expect(await orderOf(again)).toEqual({ target: NEW, go: false });
    await look();
    await look();
    expect((await updates()).state).toBe("canary");
    expect(await updateOf("w1")).toMatchObject({ state: "proving" });
    expect(await updateOf("w2")).toMatchObject({ state: "held" });
    // The other one has no place: the canary gets the job.
    await hub.call("POST", "/workers/w2/status", { status: "drain" });
    const { body } = await hub.call("POST", "/jobs", { url: TARGET });
    again.finish(await again.assigned.next());
    await until("its end", 60_000, async () => {
      const { status } = (await hub.call("GET", `/jobs/${body.job_id}`)).body;
      return status === "completed";
    });
    await look();
    await look();
    expect((await told(w2, true)).update?.target).toBe(NEW);
    await restart(w2, NEW);
    await look();
    await look();
    expect(await updates()).toMatchObject({ state: "up_to_date", workers: [], failure: null });
    const lines = hub.log.map(({ message }) => message);
    expect(lines).toContain("the canary works on its new version");
  });

  test("a canary that gets no work is given a session by the hub, on one of its lanes", async () => {
    await start({ env: { SVC_UPDATE_DEADLINE_S: "100" } });
    const w1 = await join("w1", OLD);
    await look();
    await told(w1, true);
    const again = await restart(w1, NEW, { on_call: () => ({ result: SELF_CHECK.text }) });
    const link = hub.ctx.links.get("w1");
    if (!link) throw new Error("no link");
    // As if it had been here for a while.
    Object.assign(link, { connected_at: link.connected_at - 11_000 });
    await look();
    await until("the check", 60_000, async () => {
      await look();
      return (await updates()).state === "up_to_date";
    });
    expect((await again.opening.next()).url).toBeNull();
    expect((await again.calls.next()).action).toBe("evaluate");
    await again.closing.next();
    expect(hub.ctx.sessions.size).toBe(0);
  });

  test("a canary whose check fails twice stops the roll-out, and is sent back to its old version", async () => {
    await start({ env: { SVC_UPDATE_DEADLINE_S: "100" } });
    const [w1] = [await join("w1", OLD), await join("w2", OLD)];
    await look();
    await told(w1, true);
    const broken = await restart(w1, NEW, {
      on_call: () => ({
        ok: false,
        kind: "broken",
        error: { name: "Error", message: "no browser" },
      }),
    });
    const link = hub.ctx.links.get("w1");
    Object.assign(link ?? {}, { connected_at: Date.now() - 11_000 });
    await until("the failure", 60_000, async () => {
      await look();
      return (await updates()).state === "stopped";
    });
    const { failure, detail } = await updates();
    expect(failure).toMatchObject({ worker_id: "w1", version: NEW, kind: "browser" });
    expect(failure?.error).toContain("no browser");
    expect(detail).toContain(`Worker w1 failed to update to ${NEW}`);
    expect((await told(broken, true)).update).toEqual({ target: OLD, go: true });
    expect(await updateOf("w1")).toMatchObject({ state: "failed" });
    expect((await updateOf("w1")).error).toContain("no browser");
    const errors = hub.log.filter(({ level }) => level === "error").map(({ message }) => message);
    expect(errors).toContain("an update failed: the others keep their version");
    const back = await restart(broken, OLD);
    expect(await orderOf(back)).toEqual({ target: NEW, go: false });
  });

  test("a canary that takes no session on its lanes is not asked forever", async () => {
    await start({ env: { SVC_UPDATE_DEADLINE_S: "100" } });
    const w1 = await join("w1", OLD);
    await look();
    await told(w1, true);
    const again = await restart(w1, NEW, { on_open: "lane" });
    Object.assign(hub.ctx.links.get("w1") ?? {}, { connected_at: Date.now() - 11_000 });
    await until("the failure", 60_000, async () => {
      // A lane that was refused is believed again when the worker speaks of it.
      again.heartbeat();
      await look();
      return (await updates()).state === "stopped";
    });
    expect((await updates()).failure?.error).toContain("on none of its lanes");
  });

  test("jobs that fail on the canary alone are its version's", async () => {
    await start();
    const [w1, w2] = [await join("w1", OLD), await join("w2", OLD)];
    await look();
    await told(w1, true);
    const again = await restart(w1, NEW);
    await look();
    const run = async (worker: FakeWorker, status: "completed" | "failed") => {
      const other = worker === again ? "w2" : "w1";
      await hub.call("POST", `/workers/${other}/status`, { status: "drain" });
      await hub.call("POST", `/workers/${worker.worker_id}/status`, { status: "active" });
      const { body } = await hub.call("POST", "/jobs", { url: TARGET });
      const error = status === "failed" ? "nothing is drawn" : null;
      worker.finish(await worker.assigned.next(), { status, error });
      await until("its end", 60_000, async () => {
        const job = (await hub.call("GET", `/jobs/${body.job_id}`)).body;
        return job.status === status;
      });
    };
    for (let i = 0; i < 3; i += 1) await run(again, "failed");
    await run(w2, "completed");
    await hub.call("POST", "/workers/w1/status", { status: "active" });
    await look();
    expect((await updates()).failure?.error).toContain("nothing is drawn");
  });

  test("a worker of an earlier version, which waits for no order, goes by the hub's version as ever", async () => {
    await start();
    const worker = await hub.worker({ worker_id: "w1", version: OLD });
    expect(await worker.registered).toMatchObject({ expected_worker_version: NEW });
    expect((await worker.registered).update).toBeUndefined();
    await look();
    expect((await updates()).workers).toEqual([]);
  });
});

describe("the command", () => {
  const run = async (words: string[], env: Record<string, string> = {}) => {
    let out = "";
    let err = "";
    const terminal: Terminal = {
      width: 200,
      out: (text) => (out += text),
      err: (text) => (err += text),
    } as Partial<Terminal> as Terminal;
    const given = { SVC_HUB: hub.url, SVC_ADMIN_PASSWORD: PASSWORD, ...env };
    const signal = new AbortController().signal;
    const code = await runClientCommand("fleet", words, {}, given, terminal, signal);
    return { code, out, err };
  };

  test("says how updates go, pauses, approves and pins", async () => {
    await start();
    await join("w1", OLD);
    await look();
    const status = await run(["status"]);
    expect(status).toMatchObject({ code: 0, err: "" });
    expect(status.out).toContain("canary: Canary w1 goes to");
    expect(status.out).toMatch(/w1 +browser +aaaaaaaaaaaa +starting \(canary\) +bbbbbbbbbbbb/);
    expect((await run(["pause-updates"])).out).toContain(
      "paused: Nobody is sent to another version",
    );
    expect((await run(["resume-updates"])).out).toContain("canary: ");
    expect((await run(["pin", OLD])).out).toContain(`wanted version ${OLD} (pinned)`);
    expect((await run(["pin", "off"])).out).toContain(`wanted version ${NEW};`);
    expect((await run(["pin", `w1=${OLD}`])).out).toContain(`pinned workers: w1 at ${OLD}`);
    expect((await run(["pin", "w1=off"])).out).not.toContain("pinned");
    expect((await run(["approve", NEW])).code).toBe(0);
    expect(await run(["approve", OLD])).toMatchObject({ code: 1, out: "" });
    expect((await run(["status"], { SVC_ADMIN_PASSWORD: "" })).code).toBe(0);
  });

  test("refuses what means nothing, and what is the administrator's without the password", async () => {
    await start();
    for (const words of [
      ["pin"],
      ["pin", "=x"],
      ["status", "now"],
      ["upgrade"],
      ["approve", "a", "b"],
    ])
      expect(run(words)).rejects.toThrow(UsageError);
    expect(run(["pause-updates"], { SVC_ADMIN_PASSWORD: "" })).rejects.toThrow(
      "SVC_ADMIN_PASSWORD",
    );
    expect(await run(["pause-updates"], { SVC_ADMIN_PASSWORD: "a wrong password" })).toMatchObject({
      code: 1,
    });
  });

  test("flotilla doctor hub fails for a roll-out that has stopped", async () => {
    await start();
    const w1 = await join("w1", OLD);
    const { port } = new URL(hub.url);
    const check = () => checkUpdates({ port: Number(port), api_token: null });
    await look();
    expect(await check()).toMatchObject({ status: "ok" });
    const report = { target: NEW, state: "failed", error: "it crashed", rolled_back: true };
    await until("the failure", 60_000, async () => {
      w1.heartbeat({ update: report });
      await look();
      return (await updates()).state === "stopped";
    });
    const { status, found, advice } = await check();
    expect({ status, found }).toMatchObject({
      status: "fail",
      found: expect.stringContaining("it crashed"),
    });
    expect(advice).toContain(`flotilla fleet approve ${NEW}`);
  });
});

describe("an operator's word", () => {
  test("only the administrator may say it, and it is checked", async () => {
    await start();
    await join("w1", OLD);
    await look();
    for (const path of ["pause", "resume", "approve", "pin"])
      expect((await hub.call("POST", `/api/v1/updates/${path}`, {})).status).toBe(401);
    expect((await admin("pin", { version: "cccccccccccc" })).status).toBe(422);
    expect((await admin("pin", { version: "not a version" })).status).toBe(422);
    expect((await admin("pin", { version: OLD, worker_id: "nobody" })).status).toBe(404);
    expect((await admin("approve", { version: OLD })).status).toBe(409);
    expect((await admin("approve", { versions: NEW })).status).toBe(422);
  });

  test("pause, resume and a pin count at once, and outlive the hub", async () => {
    await start();
    const w1 = await join("w1", OLD);
    expect((await admin("pause")).body).toMatchObject({ state: "paused" });
    await look();
    expect(await updateOf("w1")).toMatchObject({ state: "held" });
    expect((await admin("pin", { version: OLD })).body).toMatchObject({ pin: OLD });
    await hub.restart();
    expect(await updates()).toMatchObject({ pin: OLD });
    const again = await join("w1", OLD);
    await look();
    expect((await updates()).paused_since).not.toBeNull();
    expect(await orderOf(again)).toEqual({ target: OLD, go: false });
    expect((await admin("resume")).body).toMatchObject({ state: "up_to_date", paused_since: null });
    expect((await admin("pin", { version: null })).body).toMatchObject({ state: "canary" });
    expect((await told(again, true)).update?.target).toBe(NEW);
    void w1;
  });

  test("after a failure approve lets the others go; who was rolled back keeps its version", async () => {
    await start();
    const [w1, w2] = [await join("w1", OLD), await join("w2", OLD)];
    await look();
    await told(w1, true);
    const report = { target: NEW, state: "failed", error: "it crashed", rolled_back: true };
    w1.heartbeat({ update: report });
    await w1.settle();
    w1.heartbeat({ update: report });
    await w1.settle();
    w1.heartbeat({ update: report });
    await until("the failure", 60_000, async () => {
      w1.heartbeat({ update: report });
      await look();
      return (await updates()).state === "stopped";
    });
    expect(await updateOf("w1")).toMatchObject({ state: "failed", error: "it crashed" });
    expect(await updateOf("w2")).toMatchObject({ state: "held" });
    expect((await admin("approve", { version: NEW })).status).toBe(200);
    expect((await told(w2, true)).update?.target).toBe(NEW);
    expect(await updateOf("w1")).toMatchObject({ state: "failed" });
  });
});
