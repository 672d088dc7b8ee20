import { expect, test } from "bun:test";
import { DeadlineError } from "#shared/kit/clock.ts";
import { openCdpPipe, type SentCommand } from "#test/support/fakes/cdp-pipe.ts";
import { CdpError } from "#worker/browser/cdp/connection.ts";

/** A connection whose other end is this test. */
function openPair() {
  const sent: SentCommand[] = [];
  let arrived = Promise.withResolvers<void>();
  const { connection, toBrowser, fromBrowser, say } = openCdpPipe((command) => {
    sent.push(command);
    arrived.resolve();
    arrived = Promise.withResolvers();
  });
  const nextSent = async (): Promise<SentCommand> => {
    while (sent.length === 0) await arrived.promise;
    return sent.shift() as SentCommand; // the loop above saw one
  };
  const attach = (sessionId: string, through?: string) =>
    say({
      method: "Target.attachedToTarget",
      params: { sessionId, targetInfo: { targetId: `t-${sessionId}`, type: "page" } },
      sessionId: through,
    });
  return { connection, toBrowser, fromBrowser, say, nextSent, attach };
}

test("an answer reaches its command, in whatever order answers come", async () => {
  const { connection, say, nextSent } = openPair();
  const first = connection.root.send("Browser.getVersion");
  const second = connection.root.send("Target.getTargets");
  const [a, b] = [await nextSent(), await nextSent()];
  say({ id: b.id, result: { targetInfos: [] } });
  say({ id: a.id, result: { product: "Chrome/1" } });
  expect(await second).toEqual({ targetInfos: [] });
  expect(await first).toMatchObject({ product: "Chrome/1" });
});

test("messages survive any cut of the byte stream, inside a character too", async () => {
  const { connection, fromBrowser } = openPair();
  const seen: string[] = [];
  const all = Promise.withResolvers<void>();
  connection.root.on("Target.targetInfoChanged", ({ targetInfo }) => {
    if (seen.push(targetInfo.title) === 3) all.resolve();
  });
  const titles = ["größe", "日本語 🚢", ""];
  const bytes = Buffer.from(
    titles
      .map(
        (title) =>
          `${JSON.stringify({ method: "Target.targetInfoChanged", params: { targetInfo: { title } } })}\0`,
      )
      .join(""),
  );
  for (const byte of bytes) fromBrowser.write(Buffer.from([byte]));
  await all.promise;
  expect(seen).toEqual(titles);
});

test("an error answer names its method and code; an unknown session counts as gone", async () => {
  const { connection, say, nextSent } = openPair();
  const refused = connection.root.send("Browser.getVersion");
  say({ id: (await nextSent()).id, error: { code: -32_601, message: "wasn't found" } });
  const lost = connection.root.send("Browser.getVersion");
  say({ id: (await nextSent()).id, error: { code: -32_001, message: "Session not found" } });
  expect(await refused.catch((e) => e)).toMatchObject({
    method: "Browser.getVersion",
    code: -32_601,
    gone: false,
  });
  expect(await lost.catch((e) => e)).toMatchObject({ gone: true });
});

test("a command without an answer fails at its deadline and names itself", async () => {
  const { connection } = openPair();
  const err = await connection.root
    .send("Browser.getVersion", undefined, { timeout_ms: 5 })
    .catch((e) => e);
  expect(err).toBeInstanceOf(DeadlineError);
  expect(err.message).toContain("CDP Browser.getVersion");
});

test("a deadline begins anew while bodies come, if it may, but never forever", async () => {
  const { connection } = openPair();
  const waited = async (options: { timeout_ms: number; longest_ms?: number }) => {
    const err = await connection.root
      .send("Browser.getVersion", undefined, options)
      .catch((e) => e);
    expect(err).toBeInstanceOf(DeadlineError);
    return (err as DeadlineError).ms;
  };
  expect(await waited({ timeout_ms: 5, longest_ms: 100_000 })).toBe(5);
  let heard = 0;
  let size = 200;
  Object.defineProperty(connection, "heard", { get: () => (heard += size) });
  // The answer to somebody's ping is no sign of it.
  expect(await waited({ timeout_ms: 5, longest_ms: 12 })).toBe(5);
  size = 100_000;
  expect(await waited({ timeout_ms: 5, longest_ms: 12 })).toBe(12);
  expect(await waited({ timeout_ms: 5 })).toBe(5);
});

test("a late answer to a command that timed out is dropped", async () => {
  const { connection, say, nextSent } = openPair();
  await connection.root.send("Browser.getVersion", undefined, { timeout_ms: 1 }).catch(() => {});
  say({ id: (await nextSent()).id, result: {} });
  const next = connection.root.send("Target.getTargets");
  say({ id: (await nextSent()).id, result: { targetInfos: [] } });
  expect(await next).toEqual({ targetInfos: [] });
});

test("a detached session rejects its pending commands, and so do the sessions below it", async () => {
  const { connection, say, attach } = openPair();
  const attached = Promise.withResolvers<void>();
  let count = 0;
  connection.root.on("Target.attachedToTarget", (_, session) => {
    session.on("Target.attachedToTarget", () => {});
    count += 1;
  });
  attach("page");
  attach("frame", "page");
  connection.root.on("Target.targetDestroyed", () => attached.resolve());
  say({ method: "Target.targetDestroyed", params: { targetId: "x" } });
  await attached.promise;
  expect(count).toBe(1);
  const page = connection.session("page");
  const frame = connection.session("frame");
  expect(frame?.parent).toBe(page);
  const pending = [page?.send("Page.enable"), frame?.send("Page.enable")].map((p) =>
    p?.catch((e) => e),
  );
  say({ method: "Target.detachedFromTarget", params: { sessionId: "page" } });
  for (const err of await Promise.all(pending)) expect(err).toMatchObject({ gone: true });
  await frame?.closed;
  expect(connection.session("frame")).toBeNull();
  expect(await page?.send("Page.enable").catch((e) => e)).toBeInstanceOf(CdpError);
});

test("when the pipe ends, every pending command fails as gone and every session closes", async () => {
  const { connection, fromBrowser, attach, say, nextSent } = openPair();
  attach("page");
  const version = connection.root.send("Browser.getVersion");
  say({ id: (await nextSent()).id, result: {} });
  await version;
  const page = connection.session("page");
  const pending = page?.send("Page.enable").catch((e) => e);
  fromBrowser.end();
  expect(await pending).toMatchObject({ method: "Page.enable", gone: true });
  await page?.closed;
  await connection.closed;
  expect(await connection.root.send("Browser.getVersion").catch((e) => e)).toMatchObject({
    gone: true,
  });
});

test("a broken write pipe closes the connection", async () => {
  const { connection, toBrowser } = openPair();
  const pending = connection.root.send("Browser.getVersion").catch((e) => e);
  toBrowser.destroy(new Error("EPIPE"));
  expect(await pending).toMatchObject({ gone: true });
  await connection.closed;
});

test("a listener that was taken off hears nothing more", async () => {
  const { connection, say } = openPair();
  const heard: string[] = [];
  const stop = connection.root.on("Target.targetDestroyed", () => heard.push("stopped"));
  stop();
  const done = Promise.withResolvers<void>();
  connection.root.on("Target.targetDestroyed", () => done.resolve());
  say({ method: "Target.targetDestroyed", params: { targetId: "x" } });
  await done.promise;
  expect(heard).toEqual([]);
});
