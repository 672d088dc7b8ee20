import { afterAll, beforeAll, expect, test } from "bun:test";
import { connect } from "node:net";
import { silentLog } from "#shared/kit/log.ts";
import type { DialedClient } from "#worker/browser/bridge/dial-session.ts";
import { openRelay, type Relay } from "#worker/browser/webdriver/relay.ts";
import { isMarked } from "#worker/egress/port-marks.ts";

/** Everything in a lane is hostile: what a page sends to the port of a session's chromedriver (rules/webdriver). */

let relay: Relay;
beforeAll(async () => {
  const client = { session: { lane_idx: 0, browser: () => null }, by: "test" };
  const rules = { cdp_port_base: 1, refusalOfUrl: () => null };
  relay = await openRelay(rules, client as unknown as DialedClient, silentLog);
});
afterAll(() => relay.close());

const ask = (headers: Record<string, string>) =>
  fetch(`http://${relay.address}/json/version`, { headers }).then(({ status }) => status);

test("a call that names an origin, or another host, is refused before the browser hears of it", async () => {
  // No browser is there, which only chromedriver is told.
  expect(await ask({})).toBe(502);
  expect(await ask({ Origin: `http://${relay.address}` })).toBe(403);
  expect(await ask({ Origin: "null" })).toBe(403);
  expect(await ask({ Host: "rebound.test" })).toBe(403);
  expect(await ask({ Host: `localhost:${relay.address.split(":")[1]}` })).toBe(403);
});

/** What a socket is answered. */
function upgrade(headers: string[]): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const socket = connect(Number(relay.address.split(":")[1]), "127.0.0.1");
  let text = "";
  socket.on("data", (bytes) => {
    text += bytes.toString("latin1");
  });
  socket.on("close", () => resolve(text));
  socket.on("error", () => {});
  const lines = ["GET /devtools/browser HTTP/1.1", `Host: ${relay.address}`, "Connection: Upgrade"];
  lines.push(
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
  );
  socket.write(`${[...lines, ...headers].join("\r\n")}\r\n\r\n`);
  return promise;
}

test("a socket of a page is cut without a word", async () => {
  expect(await upgrade([])).toStartWith("HTTP/1.1 502");
  expect(await upgrade(["Origin: http://page.test"])).toBe("");
});

test("lanes of every worker on the machine are kept from the port for as long as it is open", async () => {
  const port = Number(relay.address.split(":")[1]);
  expect(isMarked(port)).toBe(true);
});
