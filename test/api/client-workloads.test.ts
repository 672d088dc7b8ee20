import { afterAll, beforeAll, expect, test } from "bun:test";
import { type AddressInfo, connect, createServer } from "node:net";
import { createClient, FlotillaError } from "flotilla";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";

let hub: TestHub;
beforeAll(async () => {
  hub = await startTestHub({ env: { SVC_API_TOKEN: "secret-token" } });
});
afterAll(() => hub.close());
const client = (base_url = hub.url) => createClient({ base_url, token: "secret-token" }).workloads;

const settings = { executor_type: "command" as const, executor_config: { argv: ["true"] } };

test("the client makes, reads, changes and deletes a workload (rules/pipeline-workloads#create-a-workload)", async () => {
  const workloads = client();
  const made = await workloads.create({ slug: "typed", ...settings, priority: 3 });
  expect(made).toMatchObject({ slug: "typed", priority: 3, enabled: true });
  expect(await workloads.get("typed")).toEqual(made);
  expect(await workloads.list()).toContainEqual(made);
  expect(await workloads.setEnabled("typed", false)).toMatchObject({ enabled: false });
  const replaced = await workloads.replace("typed", { ...settings, name: "Typed" });
  expect(replaced).toMatchObject({ name: "Typed", priority: 0, enabled: true });
  const over = await workloads.replace(
    "typed",
    { ...settings, name: "T", priority: 8 },
    { over: replaced },
  );
  expect(over.priority).toBe(8);
  const late = await workloads
    .replace("typed", { ...settings, name: "T", priority: 8 }, { over: replaced })
    .catch(String);
  expect(late).toContain("settings have changed");
  await workloads.delete("typed", { force: true });
  const gone = await workloads.get("typed").catch((err: unknown) => err);
  expect(gone).toBeInstanceOf(FlotillaError);
  expect(gone).toMatchObject({ status: 404, detail: "workload not found" });
});

test("it submits tasks, looks at the queue, removes one and reads runs (rules/clients#tasks-without-doubles)", async () => {
  const workloads = client();
  await workloads.create({ slug: "queue", ...settings });
  const items = [{ pk: "a/b" }, { pk: "c", extra: { n: 1 } }];
  expect(await workloads.submit("queue", items)).toMatchObject({ submitted: 2, duplicates: 0 });
  expect(await workloads.submit("queue", items)).toMatchObject({ submitted: 0, duplicates: 2 });
  const { rows } = await workloads.peek("queue", { state: "pending", limit: 1 });
  expect(rows).toMatchObject([{ pk: "a/b" }]);
  await workloads.removeTask("queue", "a/b");
  expect(await workloads.queue("queue")).toEqual({ pending: 1, claimed: 0, failed: 0, total: 1 });
  expect(await workloads.resetFailed("queue")).toBe(0);
  expect(await workloads.runs("queue", { limit: 5, success: false })).toEqual([]);
  expect(await workloads.allRuns({ pk: "c" })).toEqual([]);
  expect(await workloads.run(1).catch((err: FlotillaError) => err.status)).toBe(404);
});

test("a task that is taken once stays a duplicate, until its workload is deleted (rules/pipeline-tasks#tasks-that-are-taken-once)", async () => {
  const workloads = client();
  const items = [{ pk: "a", once: true }];
  for (const life of ["first", "second"]) {
    await workloads.create({ slug: "once", ...settings });
    expect([life, await workloads.submit("once", items)]).toMatchObject([life, { submitted: 1 }]);
    await workloads.removeTask("once", "a");
    expect(await workloads.submit("once", items)).toMatchObject({ submitted: 0, duplicates: 1 });
    await workloads.delete("once");
  }
});

test("a batch whose answer is lost is sent again under its key, and stored once", async () => {
  await client().create({ slug: "lossy", ...settings });
  const { port } = new URL(hub.url);
  let connections = 0;
  const proxy = createServer((socket) => {
    connections += 1;
    const upstream = connect(Number(port), "127.0.0.1");
    for (const end of [socket, upstream]) end.on("error", () => {});
    socket.pipe(upstream);
    // The work is done, and its answer never comes: what a restart looks like from outside.
    if (connections === 1) upstream.once("data", () => socket.destroy());
    else upstream.pipe(socket);
    socket.on("close", () => upstream.destroy());
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  try {
    const { port: between } = proxy.address() as AddressInfo;
    const sent = await client(`http://127.0.0.1:${between}`).submit("lossy", [{ pk: "a" }]);
    expect(sent).toMatchObject({ submitted: 1, duplicates: 0 });
    expect(connections).toBe(2);
    expect((await client().queue("lossy")).total).toBe(1);
  } finally {
    proxy.close();
  }
});
