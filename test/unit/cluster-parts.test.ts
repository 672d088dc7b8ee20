import { expect, test } from "bun:test";
import { type Cluster, createCluster } from "#hub/platform/cluster/cluster.ts";
import { HUBS_CHANNEL, type HubMessage, MAX_WAKE_JOBS } from "#hub/platform/cluster/messages.ts";
import { betterPeer, type Peer } from "#hub/platform/cluster/peers.ts";
import { createMemoryPubSub } from "#hub/platform/stores/pubsub-memory.ts";
import { silentLog } from "#shared/kit/log.ts";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";

/** What a hub knows of the others, without any of them. */

const peer = (hub_id: string, in_flight: number, max_concurrent = 2, more = {}): Peer => ({
  hub_id,
  seen_at: 0,
  told_at: 0,
  left: 0,
  best: { in_flight, max_concurrent, workers: 1 },
  ...more,
});
const best = (in_flight: number, max_concurrent = 2) => ({ in_flight, max_concurrent, workers: 1 });

const CASES: [string, Peer[], ReturnType<typeof best> | null, string | null][] = [
  ["nobody else", [], best(1), null],
  ["fewer in flight", [peer("b", 0)], best(1), "b"],
  ["as many in flight", [peer("b", 1)], best(1), null],
  ["as many in flight on a larger worker", [peer("b", 1, 4)], best(1), "b"],
  ["as many on a smaller one", [peer("b", 1, 1)], best(1), null],
  ["any at all when this hub has none", [peer("b", 7)], null, "b"],
  ["none at all", [peer("b", 0, 2, { best: null })], null, null],
  ["the best of several", [peer("b", 2), peer("c", 0), peer("d", 1)], best(3), "c"],
  ["one whose only candidate is promised", [peer("b", 0, 2, { left: 1 })], best(1), null],
  ["one that spoke 5 s ago", [peer("b", 0, 2, { told_at: -5_000 })], best(1), "b"],
  ["one that spoke longer ago", [peer("b", 0, 2, { told_at: -5_001 })], best(1), null],
];
for (const [what, peers, own, found] of CASES)
  test(`the better hub is ${found ?? "nobody"}, given ${what} (rules/cluster#jobs-across-hubs)`, () => {
    expect(betterPeer(peers, own, 0)?.hub_id ?? null).toBe(found);
  });

async function hub(shared = true) {
  const clock = createFakeClock();
  const pubsub = createMemoryPubSub(silentLog);
  const heard: HubMessage[] = [];
  const said: HubMessage[] = [];
  let met = 0;
  const cluster: Cluster = createCluster({
    hub_id: "a",
    shared,
    pubsub,
    clock,
    log: silentLog,
    hear: (message) => heard.push(message),
    met: () => {
      met += 1;
    },
    gap: () => {},
  });
  await pubsub.subscribe(HUBS_CHANNEL, (message) => {
    const told = message as HubMessage;
    if (told.from === "a") said.push(told);
  });
  await cluster.listen();
  const say = async (message: unknown) => {
    pubsub.publish(HUBS_CHANNEL, message);
    await Promise.resolve();
  };
  return { clock, cluster, heard, said, say, met: () => met };
}

test("a hub without others says nothing, and hears others only when its stores are shared", async () => {
  const alone = await hub(false);
  await alone.say({ type: "hello", from: "b" });
  alone.cluster.greet();
  alone.cluster.tell({ type: "job_taken", job_id: "j" });
  alone.cluster.wake(["j"]);
  await alone.clock.advance(1_000);
  expect([alone.cluster.peers.size, alone.said.length]).toEqual([0, 0]);
});

test("a hub is met by whatever it says, and forgotten when it says goodbye", async () => {
  const { cluster, heard, say, met } = await hub();
  await say({ type: "candidate", from: "b", best: best(1) });
  expect(cluster.peers.get("b")).toMatchObject({ best: best(1), left: 0 });
  await say({ type: "job_taken", from: "b", job_id: "j" });
  expect([met(), heard.length]).toEqual([1, 2]);
  await say({ type: "bye", from: "b" });
  expect(cluster.peers.size).toBe(0);
});

test("what is malformed, of an unknown type or this hub's own is not heard", async () => {
  const { cluster, heard, say } = await hub();
  for (const message of [
    null,
    "text",
    { type: "from the future", from: "b" },
    { type: "wake", from: "b", jobs: Array.from({ length: MAX_WAKE_JOBS + 1 }, () => "j") },
    { type: "job_taken", from: "a", job_id: "j" },
  ])
    await say(message);
  expect([heard.length, cluster.peers.size]).toEqual([0, 0]);
});

test("wakes within 50 ms are one message, and none is lost", async () => {
  const { clock, cluster, said, say } = await hub();
  await say({ type: "hello", from: "b" });
  const ids = Array.from({ length: 2 * MAX_WAKE_JOBS }, (_, i) => `j${i}`);
  for (const id of ids) cluster.wake([id]);
  await clock.advance(0);
  expect(said).toEqual([{ type: "wake", from: "a", jobs: ["j0"] }]);
  await clock.advance(500);
  expect(said.flatMap((m) => (m.type === "wake" ? m.jobs : []))).toEqual(ids);
  expect(said.length).toBe(3);
});

test("a hub that left the registry is forgotten when it has been silent for 15 s, not before (rules/cluster#registry-of-hubs)", async () => {
  const { clock, cluster } = await hub();
  cluster.found(["b", "c"]);
  await clock.advance(15_000);
  cluster.found(["c"]);
  expect([...cluster.peers.keys()]).toEqual(["b", "c"]);
  await clock.advance(1);
  cluster.found(["c"]);
  expect([...cluster.peers.keys()]).toEqual(["c"]);
});
