import { expect, test } from "bun:test";
import type { Log } from "#shared/kit/log.ts";
import { silentLog } from "#shared/kit/log.ts";
import { openCdpPipe, type SentCommand } from "#test/support/fakes/cdp-pipe.ts";
import { showPerson } from "#worker/browser/person/show-person.ts";

/** Which sessions of a browser are told its options, however targets come and go (rules/browser-options#where-they-hold). */

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** A browser that this test plays. */
function openBrowser(log: Log = silentLog, options = { timezone: "Asia/Tokyo" }) {
  const sent: SentCommand[] = [];
  const { connection, say: write } = openCdpPipe((command) => void sent.push(command));
  showPerson({ connection, product: "Chrome/156.0.0.0" }, options, log);
  const say = async (...messages: object[]) => {
    write(...messages);
    await turn();
    await turn();
  };
  const placed = () =>
    sent.splice(0).filter(({ method }) => method === "Emulation.setTimezoneOverride");
  return { say, placed };
}

const attached = (sessionId: string, targetId: string) => ({
  method: "Target.attachedToTarget",
  params: { sessionId, targetInfo: { targetId, type: "page" } },
});
const detached = (sessionId: string) => ({
  method: "Target.detachedFromTarget",
  params: { sessionId },
});
const sessionsOf = (sent: SentCommand[]) => sent.map(({ sessionId }) => sessionId);

test("a target that is detached and attached again in one breath is told again", async () => {
  const { say, placed } = openBrowser();
  await say(attached("s1", "page"));
  expect(sessionsOf(placed())).toEqual(["s1"]);
  await say(detached("s1"), attached("s2", "page"));
  expect(sessionsOf(placed())).toEqual(["s2"]);
});

test("a target with two sessions is told by one, and by the other once that one has ended", async () => {
  const { say, placed } = openBrowser();
  await say(attached("s1", "worker"), attached("s2", "worker"));
  expect(sessionsOf(placed())).toEqual(["s1"]);
  await say(detached("s1"));
  expect(sessionsOf(placed())).toEqual(["s2"]);
});

test("when a target ends the others are placed again, each at most once before it has answered", async () => {
  const { say, placed } = openBrowser();
  await say(attached("s1", "page"), attached("s2", "worker"), attached("s3", "another"));
  const [first] = placed();
  await say(detached("s2"), detached("s3"));
  expect(placed()).toEqual([]);
  await say({ id: first?.id, sessionId: "s1", result: {} });
  expect(sessionsOf(placed())).toEqual(["s1"]);
});

test("what the browser refuses is told once, and not what another session has set already", async () => {
  const told: string[] = [];
  const warn = (fields: { err: string }) => void told.push(fields.err);
  const { say, placed } = openBrowser({ ...silentLog, warn } as unknown as Log);
  await say(attached("s1", "page"), attached("s2", "worker"), attached("s3", "another"));
  const refusals = placed().map(({ id, sessionId }, n) => {
    const message = n === 0 ? "Timezone override is already in effect" : "Invalid timezone id";
    return { id, sessionId, error: { code: -32_000, message } };
  });
  await say(...refusals);
  expect(told).toEqual(["Emulation.setTimezoneOverride: Invalid timezone id"]);
});
