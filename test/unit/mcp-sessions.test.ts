import { beforeEach, expect, test } from "bun:test";
import {
  createMcpSessions,
  IDLE_MS,
  type McpSessions,
  MOST_CLIENTS,
} from "#hub/program/mcp/http-sessions.ts";
import { createHttp } from "#shared/client/http.ts";
import { silentLog } from "#shared/kit/log.ts";
import { createFakeClock, type FakeClock } from "#test/support/fakes/fake-clock.ts";

/** What a hub keeps of agents is bounded, in number and in time (rules/mcp#sessions-over-http). */

let clock: FakeClock;
let sessions: McpSessions;
beforeEach(() => {
  clock = createFakeClock();
  sessions = createMcpSessions({ clock, log: silentLog, version: "1", hub_id: "hub1" });
});

const http = createHttp({
  base_url: "http://hub.test",
  fetch: (_, { signal }) =>
    new Promise((_, reject) => {
      signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
    }),
});
const everything = { may: () => true, role: "any", fleet: true };
const open = (whose = "open") => sessions.open(whose, http, everything);

type Client = Awaited<ReturnType<McpSessions["open"]>>;
function say({ transport, id }: Client, message: object, is_first = false): Promise<Response> {
  const headers: Record<string, string> = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
  };
  if (!is_first) headers["mcp-session-id"] = id;
  const parsedBody = { jsonrpc: "2.0", ...message };
  const request = new Request("http://hub.test/mcp", { method: "POST", headers });
  return transport.handleRequest(request, { parsedBody });
}
const begin = (client: Client) =>
  say(
    client,
    {
      id: 1,
      method: "initialize",
      params: {
        protocolVersion: "2025-06-18",
        capabilities: {},
        clientInfo: { name: "test", version: "1" },
      },
    },
    true,
  );
/** A call that the hub never answers. */
const hang = (client: Client) =>
  say(client, { id: 2, method: "tools/call", params: { name: "job_list", arguments: {} } });
/** Until the call is under way. */
async function running({ mcp }: Client): Promise<void> {
  while (mcp.running() === 0) await new Promise((done) => setImmediate(done));
}

test("an id begins with the hub's and is found for its caller alone", async () => {
  const { id } = await open("token t1");
  expect(id).toMatch(/^hub1\.[\w-]{20,}$/);
  expect(sessions.of(id, "token t1").id).toBe(id);
  for (const [asked, whose] of [
    [id, "token t2"],
    ["hub1.none", "token t1"],
  ] as const)
    expect(() => sessions.of(asked, whose)).toThrow("there is no such session of /mcp");
});

test("a client that is silent for half an hour is forgotten, one that speaks is not", async () => {
  const [silent, speaking] = [await open(), await open()];
  await clock.advance(IDLE_MS - 60_000);
  sessions.of(speaking.id, "open");
  await clock.advance(120_000);
  expect(() => sessions.of(silent.id, "open")).toThrow("initialize again");
  expect(sessions.of(speaking.id, "open")).toBe(speaking);
  await clock.advance(2 * IDLE_MS);
  expect(sessions.count()).toBe(0);
  // Nothing is looked for while nobody is there.
  expect(clock.sleepers()).toEqual([]);
});

test("a call that runs keeps its client", async () => {
  const client = await open();
  await begin(client);
  void hang(client);
  await running(client);
  await clock.advance(2 * IDLE_MS);
  expect(sessions.of(client.id, "open")).toBe(client);
  await sessions.close();
});

test("where all places are taken, whoever is silent for longest makes room; while all speak, nobody does", async () => {
  const first = await open();
  for (let n = 1; n < MOST_CLIENTS; n += 1) await open();
  expect(open()).rejects.toMatchObject({ kind: "unavailable", headers: { "Retry-After": "60" } });
  await clock.advance(61_000);
  const another = await open();
  expect(sessions.count()).toBe(MOST_CLIENTS);
  expect(sessions.of(another.id, "open")).toBe(another);
  expect(() => sessions.of(first.id, "open")).toThrow("initialize again");
});

test("the end of the hub ends every client and what it waits for, and nobody comes any more", async () => {
  const client = await open();
  await begin(client);
  const answer = await hang(client);
  await running(client);
  await sessions.close();
  expect(await answer.text()).not.toContain('"result"');
  expect(sessions.count()).toBe(0);
  while (client.mcp.running() > 0) await new Promise((done) => setImmediate(done));
  expect(open()).rejects.toMatchObject({ kind: "unavailable" });
});

test("however many come at once, no more than the places that there are get in", async () => {
  const many = Array.from({ length: MOST_CLIENTS + 20 }, () => open());
  const came = await Promise.allSettled(many);
  expect(came.filter(({ status }) => status === "fulfilled")).toHaveLength(MOST_CLIENTS);
  expect(sessions.count()).toBe(MOST_CLIENTS);
});

test("room is made by the caller with the most sessions", async () => {
  const only = await open("token one");
  const first_of_many = await open("token many");
  for (let n = 2; n < MOST_CLIENTS; n += 1) await open("token many");
  await clock.advance(61_000);
  await open("token other");
  expect(sessions.of(only.id, "token one")).toBe(only);
  expect(() => sessions.of(first_of_many.id, "token many")).toThrow("initialize again");
});

test("the half hour begins when the last call has ended", async () => {
  const client = await open();
  await begin(client);
  void hang(client);
  await running(client);
  await clock.advance(IDLE_MS - 60_000);
  await say(client, { method: "notifications/cancelled", params: { requestId: 2 } });
  while (client.mcp.running() > 0) await new Promise((done) => setImmediate(done));
  await clock.advance(120_000);
  expect(sessions.count()).toBe(1);
  await clock.advance(IDLE_MS);
  expect(sessions.count()).toBe(0);
});
