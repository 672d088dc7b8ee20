import { expect, test } from "bun:test";
import { attachBrowser } from "#worker/browser/lanes/attach.ts";
import { parseRules } from "#worker/egress/egress.ts";
import { createJudge } from "#worker/egress/judge.ts";

/** A job attaches to what it names, which may be no browser of a person (rules/jobs#attach-to-a-running-browser). */

const dirs = { root: "", user_data: "", tmp: "", downloads: "", spool: "" };
const LANE = 7;
const judge = createJudge({
  navigation_block: [],
  own_ports: [],
  isNeighbours: (port) => port === LANE,
});

test("no job attaches to another worker's lane, however its address is spelled (rules/jobs#attach-to-a-running-browser)", async () => {
  const loopback = ["localhost", "127.1", "2130706433", "[::1]", "[::ffff:7f00:1]"];
  for (const at of [`${LANE}`, ...loopback.map((host) => `${host}:${LANE}`)])
    await expect(attachBrowser(at, dirs, judge)).rejects.toThrow(
      "is a port of another worker's lanes on this machine",
    );
});

test("a worker's lists of hosts count for what is attached to (rules/egress#egress-of-a-worker)", async () => {
  using server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("none") });
  const rules = { navigation_block: [], own_ports: [] };
  const denied = createJudge({ ...rules, deny: parseRules(["localhost"]) });
  const listed = createJudge({ ...rules, mode: "listed", allow: parseRules(["localhost"]) });
  const at = (host: string) => `${host}:${server.port}`;
  await expect(attachBrowser(at("localhost"), dirs, denied)).rejects.toThrow("is denied by");
  await expect(attachBrowser(at("localhost"), dirs, listed)).rejects.toThrow("is not Chromium");
  await expect(attachBrowser(at("127.0.0.1"), dirs, listed)).rejects.toThrow("is not on a list");
});

test("a server that answers without an end is no browser, and is not read on", async () => {
  const left = Promise.withResolvers<void>();
  using server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: () =>
      new Response(
        new ReadableStream({
          pull: (controller) => controller.enqueue(new Uint8Array(64 * 1024)),
          cancel: () => left.resolve(),
        }),
      ),
  });
  await expect(attachBrowser(String(server.port), dirs, judge)).rejects.toThrow("is not Chromium");
  await left.promise;
});
