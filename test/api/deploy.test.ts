import { afterEach, describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { PLACE } from "#hub/pipeline/operations/deploy.ts";
import { type Clock, systemClock } from "#shared/kit/clock.ts";
import type { EnvSource } from "#shared/kit/env.ts";
import { isAlive, readStat } from "#shared/kit/proc.ts";
import type { Deploy } from "#shared/protocol/schema/operations.ts";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";

const PASSWORD = "correct horse battery";
const admin = { "x-admin-password": PASSWORD };
const hubs: TestHub[] = [];
afterEach(async () => {
  for (const hub of hubs.splice(0)) await hub.close();
});

/** A hub whose deploy command is a shell script; `$1` is the target, the caller's args follow. */
async function deployer(
  script: string | null,
  env: EnvSource = {},
  clock?: Clock,
): Promise<TestHub> {
  const argv =
    script === null ? {} : { SVC_DEPLOY_ARGV: JSON.stringify(["sh", "-c", script, "sh"]) };
  const path = { PATH: process.env.PATH };
  const hub = await startTestHub({
    // A deploy is told from that of a dead hub by its process, and several hubs of a test are one process.
    alone: true,
    env: { ...path, ...argv, SVC_ADMIN_PASSWORD: PASSWORD, ...env },
    clock,
  });
  hubs.push(hub);
  return hub;
}
const deploy = (hub: TestHub, body: unknown = { target: "web" }, headers: object = admin) =>
  hub.call("POST", "/api/v1/admin/deploy", body, { headers: { ...headers } });
const history = async (hub: TestHub): Promise<Deploy[]> =>
  (await hub.call("GET", "/api/v1/admin/deploy", undefined, { headers: admin })).body.deploys;

/** Asks until the newest deploy is so; each ask is a real call. */
async function newest(hub: TestHub, is: (deploy: Deploy) => boolean): Promise<Deploy> {
  const end = Date.now() + 60_000;
  for (;;) {
    const [latest] = await history(hub);
    if (latest && is(latest)) return latest;
    if (Date.now() > end) throw new Error(`not so: ${JSON.stringify(latest)}`);
    await systemClock.sleep(10);
  }
}
const ended = (hub: TestHub) => newest(hub, ({ state }) => state !== "running");

/** A process that was killed may have to wait for its turn to die. */
async function isGone(pid: number): Promise<boolean> {
  for (const end = Date.now() + 60_000; Date.now() < end; await systemClock.sleep(10))
    if (!isAlive(readStat(pid))) return true;
  return false;
}
/** The pid that the script writes to a file of that name, once it is there. */
async function pidIn(hub: TestHub, name: string): Promise<number> {
  const file = join(hub.data_dir, name);
  const read = () => (existsSync(file) ? readFileSync(file, "utf8") : "");
  for (const end = Date.now() + 60_000; Date.now() < end; await systemClock.sleep(10))
    if (read().endsWith("\n")) return Number(read());
  throw new Error(`${name} was not written`);
}

describe("/admin/deploy (rules/pipeline-operations#deploys)", () => {
  test("POST runs the configured argv with target and args, no shell in between; GET tells how it went (rules/pipeline-operations#deploys)", async () => {
    const hub = await deployer(
      'echo "to $1:"; shift; for a; do echo "[$a]"; done; echo careful >&2',
    );
    const { status, body } = await deploy(hub, {
      target: "web-1",
      args: ["a b", "$(id)", "--x;y"],
    });
    expect(status).toBe(202);
    expect(await ended(hub)).toEqual({
      deploy_id: body.deploy_id,
      target: "web-1",
      args: ["a b", "$(id)", "--x;y"],
      state: "succeeded",
      exit_code: 0,
      error: null,
      log: expect.stringMatching(/to web-1:\n\[a b\]\n\[\$\(id\)\]\n\[--x;y\]\n/),
      started_at: expect.any(String),
      finished_at: expect.any(String),
      duration_ms: expect.any(Number),
    });
    expect((await history(hub))[0]?.log).toContain("careful\n");
  });

  test("an exit code is kept; a program that is not there says so", async () => {
    const hub = await deployer("exit 3");
    await deploy(hub);
    expect(await ended(hub)).toMatchObject({
      state: "failed",
      exit_code: 3,
      error: "exited with code 3",
    });
    const missing = await deployer(null, { SVC_DEPLOY_ARGV: "/no/such/program --now" });
    await deploy(missing);
    expect(await ended(missing)).toMatchObject({
      state: "failed",
      exit_code: null,
      error: expect.stringContaining("/no/such/program cannot be started"),
    });
  });

  test("one runs at a time: of ten calls at once nine are 409, and the next may follow its end", async () => {
    const hub = await deployer("while [ ! -e go ]; do sleep 0.02; done");
    const answers = await Promise.all(Array.from({ length: 10 }, () => deploy(hub)));
    expect(answers.map(({ status }) => status).sort()).toEqual([202, ...Array(9).fill(409)]);
    expect((await deploy(hub)).body.detail).toBe("a deploy is running");
    await Bun.write(join(hub.data_dir, "go"), "");
    expect(await ended(hub)).toMatchObject({ state: "succeeded" });
    expect((await deploy(hub)).status).toBe(202);
    await ended(hub);
    expect(await history(hub)).toHaveLength(2);
  });

  test("the same Idempotency-Key starts nothing twice, and needs the password each time (rules/pipeline-api#idempotency-keys)", async () => {
    const hub = await deployer("true");
    const keyed = { ...admin, "idempotency-key": "deploy-of-today" };
    const first = await deploy(hub, { target: "web" }, keyed);
    expect(first.status).toBe(202);
    await ended(hub);
    const again = await deploy(hub, { target: "web" }, keyed);
    expect([again.status, again.body]).toEqual([202, first.body]);
    expect((await deploy(hub, { target: "other" }, keyed)).status).toBe(409);
    const { status } = await deploy(
      hub,
      { target: "web" },
      { "idempotency-key": "deploy-of-today" },
    );
    expect(status).toBe(401);
    expect(await history(hub)).toHaveLength(1);
  });

  test("output is bounded, told while it runs, and secrets in it are masked", async () => {
    const hub = await deployer(
      'echo first; head -c 1000000 /dev/zero | tr "\\0" x; echo; echo "token $SHOWN"; echo last; while [ ! -e go ]; do sleep 0.02; done',
      {
        SVC_API_TOKEN: undefined,
        WORKER_SECRET: "hidden-from-all",
        SHOWN: "hidden-from-all",
        SVC_DEPLOY_ENV: "SHOWN",
      },
    );
    await deploy(hub);
    const running = await newest(hub, ({ log }) => log.endsWith("last\n"));
    expect(running).toMatchObject({ state: "running", duration_ms: null, finished_at: null });
    await Bun.write(join(hub.data_dir, "go"), "");
    const { log } = await ended(hub);
    expect(log).toStartWith("first\nxxx");
    expect(log).toEndWith("xxx\ntoken ***\nlast\n");
    expect(log).toMatch(/\n\[… \d+ bytes left out …\]\n/);
    expect(log.length).toBeLessThan(300_000);
  });

  test("at its deadline the whole group is ended, also what it started", async () => {
    const clock = createFakeClock();
    const hub = await deployer(
      'echo started; sh -c "echo \\$\\$ > grandchild; exec sleep 600" & wait; sleep 600',
      { SVC_DEPLOY_TIMEOUT_S: "0.5" },
      clock,
    );
    await deploy(hub);
    const grandchild = await pidIn(hub, "grandchild");
    expect(isAlive(readStat(grandchild))).toBe(true);
    await clock.advance(500);
    expect(await ended(hub)).toMatchObject({
      state: "failed",
      error: "it did not finish within 0.5 s",
      log: expect.stringContaining("started\n"),
    });
    expect(await isGone(grandchild)).toBe(true);
  });

  test("it sees nothing of this program's own variables", async () => {
    const hub = await deployer("env", {
      WORKER_SECRET: "hidden-from-all",
      GIVEN: "yes",
      OTHER: "no",
      SVC_DEPLOY_ENV: "GIVEN",
    });
    await deploy(hub);
    const { log } = await ended(hub);
    expect(log).toContain("GIVEN=yes\n");
    expect(log).toContain("PATH=");
    for (const absent of ["OTHER=", "SVC_", "WORKER_SECRET"]) expect(log).not.toContain(absent);
  });

  test("a stop in the middle ends it and tells that it was interrupted", async () => {
    const hub = await deployer("echo $$ > leader; sleep 600");
    await deploy(hub);
    const leader = await pidIn(hub, "leader");
    await hub.restart();
    expect(await isGone(leader)).toBe(true);
    expect((await history(hub))[0]).toMatchObject({
      state: "interrupted",
      exit_code: null,
      error: "the control plane that ran it stopped before its end",
    });
    expect((await deploy(hub)).status).toBe(202);
  });

  test("one that a killed process left is interrupted at the next start; another host's only once it is silent", async () => {
    const hub = await deployer("true");
    const { deploys } = hub.ctx.db;
    const args = { target: "web", args: [] };
    // Above every pid Linux gives out.
    await deploys.begin({ ...args, node: `${PLACE} 99999999 x`, now: Date.now() });
    await hub.restart();
    expect((await history(hub))[0]).toMatchObject({ state: "interrupted" });
    const db = hub.ctx.db.deploys;
    const row = await db.begin({ ...args, node: "elsewhere 1 x", now: Date.now() });
    expect((await deploy(hub)).status).toBe(409);
    await db.beat(row?.deploy_id ?? 0, "elsewhere 1 x", "", Date.now() - 61_000);
    expect((await deploy(hub)).status).toBe(202);
    expect((await history(hub)).map(({ state }) => state).slice(1)).toEqual([
      "interrupted",
      "interrupted",
    ]);
  });

  test("what a killed process left running is ended before another deploy may start", async () => {
    const hub = await deployer("true");
    const { deploys } = hub.ctx.db;
    const row = await deploys.begin({ target: "web", args: [], node: "x", now: Date.now() });
    const left = (tag: string) =>
      Bun.spawn(["sh", "-c", "sleep 60 & wait"], { detached: true, env: { FLOTILLA_DEPLOY: tag } });
    const [its_own, anothers] = [left(`${row?.deploy_id}:x`), left(`${row?.deploy_id}:y`)];
    await deploys.rename(row?.deploy_id ?? 0, "x", `${PLACE} 99999999 x ${its_own.pid}`);
    await hub.ctx.operations.deploys.sweepOnce();
    expect(await its_own.exited).toBe(137);
    expect((await history(hub))[0]).toMatchObject({ state: "interrupted" });
    const again = await deploys.begin({ target: "web", args: [], node: "x", now: Date.now() });
    // A group that has the number of one of long ago.
    const node = `${PLACE} 99999999 x ${anothers.pid}`;
    await deploys.rename(again?.deploy_id ?? 0, "x", node);
    await hub.ctx.operations.deploys.sweepOnce();
    expect(isAlive(readStat(anothers.pid))).toBe(true);
    process.kill(-anothers.pid, "SIGKILL");
    await anothers.exited;
  });

  test("both calls need the administrator password (rules/pipeline-api#the-administrator)", async () => {
    const hub = await deployer("true");
    expect((await deploy(hub, { target: "web" }, {})).status).toBe(401);
    expect((await hub.call("GET", "/api/v1/admin/deploy")).status).toBe(401);
    expect(await history(hub)).toEqual([]);
  });

  test("its history comes page by page, and a deploy that starts between two moves no other", async () => {
    const hub = await deployer("true");
    const run = async () => {
      const { deploy_id } = (await deploy(hub)).body;
      await newest(hub, (latest) => latest.deploy_id === deploy_id && latest.state !== "running");
      return deploy_id as number;
    };
    const [a, b, c] = [await run(), await run(), await run()];
    const page = async (query: string) => {
      const { body } = await hub.call("GET", `/api/v1/admin/deploy?${query}`, undefined, {
        headers: admin,
      });
      return {
        ids: body.deploys.map(({ deploy_id }: Deploy) => deploy_id),
        next: body.next_cursor as string | null,
      };
    };
    const first = await page("limit=2");
    expect(first).toEqual({ ids: [c, b], next: expect.any(String) });
    await run();
    expect(await page(`limit=2&cursor=${first.next}`)).toEqual({ ids: [a], next: null });
    const refused = (query: string) =>
      hub.call("GET", `/api/v1/admin/deploy?${query}`, undefined, { headers: admin });
    for (const query of ["limit=201", "limit=0", "cursor=abc", "cursor=0"])
      expect((await refused(query)).status).toBe(422);
  });

  test("without a configured command it is 409", async () => {
    const { status, body } = await deploy(await deployer(null));
    expect(status).toBe(409);
    expect(body.detail).toContain("SVC_DEPLOY_ARGV");
  });

  test.each<[string, unknown, number]>([
    ["a target that looks like a flag", { target: "--all" }, 422],
    ["a target with a slash", { target: "../web" }, 422],
    ["51 args", { target: "web", args: Array(51).fill("a") }, 422],
    ["an arg of 1,001 characters", { target: "web", args: ["a".repeat(1_001)] }, 422],
    ["an unknown key", { target: "web", argv: ["rm"] }, 422],
    ["no target", {}, 400],
    ["no JSON", "{", 400],
  ])("%s is refused", async (_what, body, status) => {
    const hub = await deployer("true");
    expect((await deploy(hub, body)).status).toBe(status);
    expect(await history(hub)).toEqual([]);
  });
});
