import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { UsageError } from "#hub/program/cli/exit.ts";
import type { Terminal } from "#hub/program/cli/print.ts";
import { runClientCommand } from "#hub/program/cli/run-command.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";

/** `flotilla fleet drain` and `activate`: browser workers are left to end what they run. */

setDefaultTimeout(180_000);
let hub: TestHub;
afterEach(() => hub.close());

function begin(words: string[]) {
  const said = { out: "", err: "" };
  const terminal = {
    out: (text: string) => (said.out += text),
    err: (text: string) => (said.err += text),
  } as Partial<Terminal> as Terminal;
  const given_up = new AbortController();
  const env = { SVC_HUB: hub.url };
  const code = runClientCommand("fleet", words, {}, env, terminal, given_up.signal);
  return { said, code, giveUp: () => given_up.abort() };
}
async function run(words: string[]) {
  const { said, code } = begin(words);
  return { code: await code, ...said };
}
const submit = async () => (await hub.call("POST", "/jobs", { url: TARGET })).body.job_id;
const statusOf = async (id: string) => (await hub.call("GET", `/workers/${id}`)).body.status;

test("drain ends when nothing runs any more; what comes meanwhile waits until activate", async () => {
  hub = await startTestHub({ alone: true, env: { SVC_SUBMIT_WAIT_S: "0" } });
  const worker = await hub.worker({ worker_id: "w1" });
  await submit();
  const job = await worker.assigned.next();
  worker.accept(job);
  const drain = begin(["drain"]);
  await until("the waiting", 60_000, () => drain.said.err !== "");
  expect(drain.said).toEqual({ out: "", err: "waiting for jobs and sessions on w1 (1)\n" });
  const waits = await submit();
  worker.finish(job);
  expect(await drain.code).toBe(0);
  expect(drain.said.out).toBe(
    "drained: nothing runs on them. To let them work again: flotilla fleet activate w1\n",
  );
  expect((await hub.call("GET", `/jobs/${waits}`)).body.status).toBe("queued");
  expect(await run(["activate", "w1"])).toEqual({ code: 0, out: "active: w1\n", err: "" });
  expect((await worker.assigned.next()).job_id).toBe(waits);
});

test("named workers alone are drained, and one that nobody waits for any longer stays so", async () => {
  hub = await startTestHub({ alone: true });
  const worker = await hub.worker({ worker_id: "w1" });
  await hub.worker({ worker_id: "w2" });
  await hub.call("POST", "/workers/w2/status", { status: "standby" });
  await submit();
  worker.accept(await worker.assigned.next());
  const drain = begin(["drain", "w1"]);
  await until("the waiting", 60_000, () => drain.said.err !== "");
  drain.giveUp();
  expect(await drain.code).toBe(1);
  expect(drain.said.err).toContain("these workers still drain: w1");
  expect([await statusOf("w1"), await statusOf("w2")]).toEqual(["drain", "standby"]);
  expect(await run(["activate"])).toMatchObject({ code: 0, out: "active: w1\n" });
  expect([await statusOf("w1"), await statusOf("w2")]).toEqual(["active", "standby"]);
  expect(await run(["activate"])).toMatchObject({ code: 0, out: "no worker to activate\n" });
  expect(run(["drain", "w9"])).rejects.toThrow(UsageError);
});
