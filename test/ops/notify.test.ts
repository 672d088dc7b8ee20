import { afterEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { addressOf, binaryRig } from "#test/support/rigs/binary.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import type { Program } from "#test/support/rigs/program.ts";
import { type NotifySocket, openNotifySocket } from "#test/support/servers/notify-socket.ts";
import { freePort } from "#test/support/servers/ports.ts";

/** What the compiled binary tells systemd, by sd_notify(3), through a socket of the test. */

/** Four beats in it. */
const WATCHDOG_MS = 400;

const flotilla = binaryRig();
const sockets: NotifySocket[] = [];
const dirs: string[] = [];
const newDir = () => {
  const dir = mkdtempSync(join(tmpdir(), "flotilla-notify-"));
  dirs.push(dir);
  return dir;
};
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.close();
});
// After the rig has ended what runs there.
process.on("exit", () => {
  for (const dir of dirs) rmSync(dir, { recursive: true, force: true });
});

/** Starts the binary in an empty directory. */
const start = (args: string[], env: Record<string, string> = {}): Program =>
  flotilla.start(args, { cwd: newDir(), env });
const listenAt = (path: string): NotifySocket => {
  const socket = openNotifySocket(path);
  sockets.push(socket);
  return socket;
};
const socketFile = () => join(newDir(), "notify");
const told = (socket: NotifySocket) => ({
  NOTIFY_SOCKET: socket.path,
  WATCHDOG_USEC: String(WATCHDOG_MS * 1_000),
});

for (const kind of ["a file", "a name of the abstract namespace"])
  test(`a hub tells the socket at ${kind} when it serves, that it lives, and that it stops`, async () => {
    const path = kind === "a file" ? socketFile() : `@flotilla-test-${crypto.randomUUID()}`;
    const socket = listenAt(path);
    const hub = start(["hub", "--host", "127.0.0.1", "--port", "0"], told(socket));
    await socket.says("READY=1");
    await socket.says(`STATUS=serving on ${await addressOf(hub)}`);
    const beats = socket.count("WATCHDOG=1");
    await until("three more beats", 60_000, () => socket.count("WATCHDOG=1") >= beats + 3);
    expect(await flotilla.end(hub, "SIGTERM")).toBe(0);
    await socket.says("STOPPING=1");
  }, 180_000);

test("a worker is ready once its control plane answers, and not before", async () => {
  const port = await freePort();
  const socket = listenAt(socketFile());
  const url = `http://127.0.0.1:${port}`;
  const worker = start(["worker", "--control-url", url, "--slots", "1"], told(socket));
  await worker.says("joining the control plane failed");
  await socket.says("STATUS=starting");
  expect(socket.count("READY")).toBe(0);
  start(["control", "--host", "127.0.0.1", "--port", String(port)]);
  await socket.says("READY=1");
  await socket.says("STATUS=pulls tasks from");
}, 240_000);

test("a process that stands still tells nothing until it goes on", async () => {
  const socket = listenAt(socketFile());
  const hub = start(["hub", "--host", "127.0.0.1", "--port", "0"], told(socket));
  await socket.says("READY=1");
  hub.kill("SIGSTOP");
  const state = () => Bun.file(`/proc/${hub.pid}/stat`).text();
  await until("the stop", 60_000, async () => / T /.test(await state()));
  // What it sent before.
  await Bun.sleep(100);
  const beats = socket.count("WATCHDOG=1");
  await Bun.sleep(3 * WATCHDOG_MS);
  expect(socket.count("WATCHDOG=1")).toBe(beats);
  hub.kill("SIGCONT");
  await until("a beat", 60_000, () => socket.count("WATCHDOG=1") > beats);
}, 180_000);

test("variables that were meant for another process are left alone, and so is a socket nobody reads", async () => {
  const socket = listenAt(socketFile());
  const other = start(["hub", "--host", "127.0.0.1", "--port", "0"], {
    ...told(socket),
    WATCHDOG_PID: "1",
  });
  const unread = start(["hub", "--host", "127.0.0.1", "--port", "0"], {
    NOTIFY_SOCKET: socketFile(),
    WATCHDOG_USEC: "400000",
  });
  await Promise.all([other, unread].map((hub) => hub.says("hub started")));
  expect(socket.lines).toEqual([]);
  const ends = [other, unread].map((hub) => flotilla.end(hub, "SIGTERM"));
  expect(await Promise.all(ends)).toEqual([0, 0]);
}, 180_000);

test("below systemd a hub waits for a database that is away and says so; a bad value ends it at once", async () => {
  const socket = listenAt(socketFile());
  const url = `postgres://127.0.0.1:${await freePort()}/flotilla`;
  const args = ["hub", "--host", "127.0.0.1", "--port", "0"];
  const hub = start([...args, "--db-url", url], told(socket));
  await socket.says("STATUS=waiting: SVC_DB_URL: cannot use the Postgres database");
  expect(socket.count("READY")).toBe(0);
  await socket.says("WATCHDOG=1");
  expect(await flotilla.end(hub, "SIGTERM")).toBe(0);
  const bad = start([...args, "--redis-url", "redis://r"], told(socket));
  expect(await flotilla.exitCode(bad)).toBe(2);
  const alone = start([...args, "--db-url", url]);
  expect(await flotilla.exitCode(alone)).not.toBe(0);
}, 240_000);
