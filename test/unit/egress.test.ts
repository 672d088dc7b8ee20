import { afterAll, beforeAll, expect, test } from "bun:test";
import { type AddressInfo, createServer, type Server } from "node:net";
import { silentLog } from "#shared/kit/log.ts";
import { ask, client, request } from "#test/support/clients/socks-client.ts";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";
import { createEgress, type Egress } from "#worker/egress/egress.ts";
import type { Gate } from "#worker/egress/gate.ts";

/** The gates of one worker's lanes (rules/egress#gate, rules/egress#never-reachable). */

let server: Server;
let port = 0;
let egress: Egress;
const gates: Gate[] = [];

beforeAll(async () => {
  server = createServer((socket) => {
    socket.on("error", () => {});
    socket.end("hello");
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  port = (server.address() as AddressInfo).port;
  egress = createEgress(
    {
      mode: "open",
      allow: [],
      deny: [],
      proxy: null,
      navigation_block: [],
      lane_ports: [],
      dialled: [],
    },
    { clock: createFakeClock(), log: silentLog, ask: async () => ["127.0.0.1"] },
  );
});
afterAll(() => {
  for (const gate of gates) gate.close();
  server.close();
});

function laneGate(): Gate {
  const gate = egress.openLaneGate();
  if (gate === null) throw new Error("a worker's lanes have gates");
  gates.push(gate);
  return gate;
}
const codeOf = async (gate: Gate, host: string, to: number) => {
  const { code, socket } = await ask(gate, host, to);
  socket.destroy();
  return code;
};

test("no lane goes out by another one's gate, and none to what the hub has told of the fleet", async () => {
  const [one, other] = [laneGate(), laneGate()];
  expect(await codeOf(one, "127.0.0.1", other.port)).toBe(2);
  expect(await codeOf(one, "site.test", other.port)).toBe(2);
  expect(await codeOf(one, "site.test", port)).toBe(0);
  egress.tell([{ host: "site.test", from: port, to: port, is: "hub" }]);
  expect(await codeOf(one, "site.test", port)).toBe(2);
  expect(one.failureOf(`http://site.test:${port}/`)?.message).toContain("is a hub of this fleet");
  egress.tell([]);
});

test("a client need not wait for the answer to its greeting, and knows the address before the server's first byte", async () => {
  const gate = laneGate();
  const one = client(gate.port);
  // Nothing was said yet.
  expect([...(await one.until(2))]).toEqual([5, 0]);
  one.socket.write(Buffer.concat([Buffer.of(5, 1, 0), request("site.test", port)]));
  await one.until(12);
  expect(gate.addressOf(`http://site.test:${port}/`)).toBe("127.0.0.1");
  expect((await one.until(17)).subarray(12).toString()).toBe("hello");
});
