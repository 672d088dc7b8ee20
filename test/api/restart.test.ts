import {
  afterAll,
  afterEach,
  beforeAll,
  describe,
  expect,
  setDefaultTimeout,
  test,
} from "bun:test";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRestartDesk } from "#hub/pipeline/agents/restarts.ts";
import { watchdogOnce } from "#hub/pipeline/agents/watchdog.ts";
import { createWallJumps } from "#shared/kit/wall-jumps.ts";
import { AGENT_OFFLINE_MS } from "#shared/protocol/schema/agent.ts";
import { createFakeClock, type FakeClock } from "#test/support/fakes/fake-clock.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";

/** Real processes and databases, on machines that do other things as well. */
setDefaultTimeout(180_000);

const PASSWORD = "correct horse battery";
const admin = { headers: { "x-admin-password": PASSWORD } };
const SILENT_S = 100;

/** A directory with an `ssh` that writes its words, one a line and ended by an empty one, to `calls`. */
let bin: string;
let hub: TestHub;
let clock: FakeClock;
beforeAll(async () => {
  bin = await mkdtemp(join(tmpdir(), "flotilla-ssh-"));
});
afterAll(() => rm(bin, { recursive: true, force: true }));
afterEach(async () => {
  await hub.close();
  await rm(join(bin, "calls"), { force: true });
});

async function begin(
  env: Record<string, string | undefined> = {},
  script = "echo done",
): Promise<void> {
  const record = `printf '%s\\n' "$@" "" >> ${bin}/calls`;
  await writeFile(join(bin, "ssh"), `#!/bin/sh\n${record}\nenv > ${bin}/env\n${script}\n`);
  await chmod(join(bin, "ssh"), 0o755);
  clock = createFakeClock();
  hub = await startTestHub({
    clock,
    env: {
      PATH: `${bin}:${process.env.PATH}`,
      SVC_ADMIN_PASSWORD: PASSWORD,
      SVC_RESTART_ARGV: '["systemctl", "restart", "flotilla-worker@{worker_id}", "a b\'c;$(id)"]',
      SVC_SSH_HOSTS: "gpu-1,gpu-2",
      SVC_SSH_USER: "ops",
      SVC_SSH_OPTIONS: "-i /etc/flotilla/key",
      SVC_WATCHDOG_SILENT_S: String(SILENT_S),
      WORKER_SECRET: undefined,
      ...env,
    },
  });
}
const addWorker = (id: string, host: string) =>
  hub.call("POST", `/api/v1/workers/${id}/register`, {
    incarnation: `incarnation-${id}`,
    host,
    slots: 1,
    version: "1",
  });
const restart = (id: string, init: RequestInit = admin) =>
  hub.call("POST", `/api/v1/workers/${id}/restart`, undefined, init);
const logged = (message: string) =>
  until(message, 60_000, () => hub.log.find((l) => l.message === message));
const calls = async () =>
  (await readFile(join(bin, "calls"), "utf8").catch(() => "")).split("\n\n").slice(0, -1);
const over = (id: string) =>
  until("the end of the restart", 60_000, async () => {
    const row = await hub.ctx.db.worker_restarts.get(id);
    return row?.busy_until === null ? row : null;
  });

describe("POST /workers/{id}/restart (rules/pipeline-agents#restart-a-worker-over-ssh)", () => {
  test("runs ssh with fixed words, each one quoted for the shell of the other host, and logs how it ended (rules/pipeline-agents#restart-a-worker-over-ssh)", async () => {
    await begin();
    await addWorker("w1", "gpu-1");
    const asked = await restart("w1");
    expect([asked.status, asked.body]).toEqual([202, { worker_id: "w1", host: "gpu-1" }]);
    expect(await logged("worker restarted over ssh")).toMatchObject({
      worker_id: "w1",
      host: "gpu-1",
      exit_code: 0,
      output: "done\n",
    });
    const [words] = await calls();
    expect(words?.split("\n")).toEqual([
      ...["-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-l", "ops"],
      ...["-i", "/etc/flotilla/key", "--", "gpu-1"],
      ...["systemctl", "restart", "flotilla-worker@w1", "'a b'\\''c;$(id)'"],
    ]);
    expect(await readFile(join(bin, "env"), "utf8")).not.toContain(PASSWORD);
    expect(await over("w1")).toMatchObject({ exit_code: 0, error: null, used: 1 });
  });

  test("a command that fails, and one that does not end in time, are logged with what they printed", async () => {
    await begin({}, "echo Permission denied >&2; exit 255");
    await addWorker("w1", "gpu-1");
    await restart("w1");
    expect(await logged("could not restart the worker over ssh")).toMatchObject({
      exit_code: 255,
      error: "exited with code 255",
      output: "Permission denied\n",
    });
    await hub.close();
    await begin({ SVC_SSH_TIMEOUT_S: "20" }, "exec sleep 600");
    await addWorker("w1", "gpu-1");
    await restart("w1");
    const again = await restart("w1");
    expect([again.status, again.body.detail]).toEqual([
      409,
      "a restart of this worker is under way",
    ]);
    await clock.sleeperIn(20_000);
    await clock.advance(20_000);
    expect(await over("w1")).toMatchObject({ error: "it did not finish within 20 s" });
  });

  test("only the administrator may; unknown workers and hosts are 404, without a command it is 409", async () => {
    await begin();
    await addWorker("w1", "gpu-1");
    await addWorker("w3", "gpu-3");
    expect((await restart("w1", {})).status).toBe(401);
    expect((await restart("w9")).status).toBe(404);
    const elsewhere = await restart("w3");
    expect([elsewhere.status, elsewhere.body.detail]).toEqual([
      404,
      "gpu-3 is not in SVC_SSH_HOSTS",
    ]);
    expect(await calls()).toEqual([]);
    await hub.close();
    await begin({ SVC_RESTART_ARGV: undefined });
    await addWorker("w1", "gpu-1");
    const none = await restart("w1");
    expect([none.status, none.body.detail]).toEqual([
      409,
      "no restart command is configured: set SVC_RESTART_ARGV",
    ]);
  });

  test("a host that is not a host name is never passed to ssh", async () => {
    await begin({ SVC_SSH_HOSTS: "*" });
    for (const [i, host] of ["-oProxyCommand=id", "a b", "a;id", "ops@gpu-1"].entries()) {
      await addWorker(`bad${i}`, host);
      expect((await restart(`bad${i}`)).status).toBe(404);
    }
    expect(await calls()).toEqual([]);
  });
});

describe("the watchdog (rules/pipeline-agents#watchdog)", () => {
  /** A watchdog over the hub's database, in a time of its own: the hub's loops would take part in theirs. */
  function watchdog() {
    const time = createFakeClock(clock.now());
    const restarts = createRestartDesk({ ...hub.ctx, clock: time });
    const wall_jumps = createWallJumps(time, hub.ctx.log);
    const operations = { ...hub.ctx.operations, restarts };
    const ctx = { ...hub.ctx, clock: time, wall_jumps, operations };
    /** How many restarts there were in all, after a pass `s` seconds later. */
    return async (s: number): Promise<number> => {
      await time.advance(s * 1_000);
      await watchdogOnce(ctx);
      for (const { worker_id } of await hub.ctx.db.pull_workers.list())
        await until("its end", 60_000, async () => {
          const row = await hub.ctx.db.worker_restarts.get(worker_id);
          return row === null || row.busy_until === null;
        });
      return (await calls()).length;
    };
  }

  test("restarts a silent worker, at most so often an hour, with time to speak in between", async () => {
    await begin({ SVC_WATCHDOG_MAX_PER_HOUR: "2" });
    await addWorker("w1", "gpu-1");
    const after = watchdog();
    expect(await after(SILENT_S - 10)).toBe(0);
    expect(await after(20)).toBe(1);
    expect(await after(SILENT_S - 30)).toBe(1);
    expect(await after(40)).toBe(2);
    expect(await after(SILENT_S * 5)).toBe(2);
    expect(await after(3_600)).toBe(3);
    expect(await after(24 * 3_600)).toBe(3);
  });

  test("leaves alone who drains, whose host is not allowed, and what a live agent keeps", async () => {
    await begin();
    for (const id of ["drains", "kept"]) await addWorker(id, "gpu-1");
    await addWorker("elsewhere", "gpu-3");
    const incarnation = "incarnation-drains";
    await hub.call("POST", "/api/v1/workers/drains/drain", { incarnation });
    const report = { gpus: [], children: [], version: "1" };
    const now = clock.now() + (SILENT_S + 10) * 1_000;
    const agent = await hub.ctx.db.agents.sync("gpu-1", { agent_id: null, report, now }, null);
    const kept = { instance_id: "kept", args: [], env: {}, generation: 0 };
    await hub.ctx.db.agents.setDesired("gpu-1", [kept], agent?.revision ?? -1);
    const after = watchdog();
    expect(await after(SILENT_S + 10)).toBe(0);
    expect(await after(AGENT_OFFLINE_MS / 1_000 + 1)).toBe(1);
    expect((await calls())[0]?.split("\n").at(-2)).toBe("flotilla-worker@kept");
  });

  test("is off unless SVC_WATCHDOG_SILENT_S is set", async () => {
    await begin({ SVC_WATCHDOG_SILENT_S: undefined });
    await addWorker("w1", "gpu-1");
    expect(await watchdog()(3_600)).toBe(0);
  });
});
