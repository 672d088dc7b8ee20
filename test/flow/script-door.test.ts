import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type OpenDoor, openDoor } from "#hub/fleet/runner/door.ts";
import { createFrameReader, type DoorFrame, writeFrame } from "#hub/fleet/runner/frames.ts";
import { DOOR_LIMITS } from "#hub/fleet/runner/limits.ts";
import { systemClock } from "#shared/kit/clock.ts";
import { AppError } from "#shared/kit/errors.ts";
import { silentLog } from "#shared/kit/log.ts";
import { reply } from "#test/support/rigs/script-rig.ts";

/** The door of a sandbox, spoken to as a script could that writes its bytes itself. */

let dir: string;
let door: OpenDoor;
let acting: { release(): void; signal: AbortSignal }[];
let said: number;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "flotilla-door-"));
  acting = [];
  said = 0;
  door = await openDoor({
    clock: systemClock,
    log: silentLog,
    path: join(dir, "d"),
    uid: null,
    onConnect: () => {},
    onSaid: () => {
      said += 1;
    },
    door: {
      act: async (action, args, signal) => {
        if (action === "hover") throw new Error("a secret of the hub");
        if (action !== "wait") return reply({ action, args });
        const { promise, resolve } = Promise.withResolvers<void>();
        acting.push({ release: resolve, signal });
        signal.addEventListener("abort", () => resolve());
        await promise;
        return reply("waited");
      },
      save: async (name, _mime, body) => {
        if (name === "") throw new AppError("invalid", "a name is required");
        return { name, size: body.length };
      },
      log: async () => {},
    },
  });
});
afterEach(async () => {
  await door.close();
  rmSync(dir, { recursive: true });
});

interface Client {
  socket: Socket;
  closed: Promise<void>;
  send(header: object, body?: unknown): void;
  /** The next answers, by the id of their call. */
  answers(n: number): Promise<Map<unknown, { ok: unknown; body: unknown }>>;
}

function dial(): Client {
  const socket = connect(join(dir, "d"));
  socket.on("error", () => {});
  const reader = createFrameReader({ header_bytes: 1_000, bodyBytes: () => 1e9 });
  const frames: DoorFrame[] = [];
  let arrived = () => {};
  socket.on("data", (chunk: Buffer) => {
    frames.push(...reader.push(chunk));
    arrived();
  });
  return {
    socket,
    closed: new Promise((resolve) => socket.once("close", () => resolve())),
    send: (header, body = null) => void socket.write(writeFrame(header, JSON.stringify(body))),
    answers: async (n) => {
      while (frames.length < n) await new Promise<void>((resolve) => (arrived = resolve));
      return new Map(
        frames
          .splice(0, n)
          .map(({ header, body }) => [
            header.id,
            { ok: header.ok, body: JSON.parse(Buffer.from(body ?? []).toString()) },
          ]),
      );
    },
  };
}

test("calls are answered by number; what is refused says why, and never what went wrong in the hub", async () => {
  const { send, answers } = dial();
  send({ id: 1, op: "act", action: "text" }, { selector: "h1" });
  send({ id: 2, op: "act", action: "fly" });
  send({ id: 3, op: "act", action: "hover" });
  send({ id: 4, op: "save", name: "" });
  send({ id: 5, op: "delete" });
  send({ id: 6, op: "log", level: "shout" }, { message: "x" });
  const all = await answers(6);
  expect(all.get(1)).toEqual({
    ok: true,
    body: reply({ action: "text", args: { selector: "h1" } }),
  });
  expect([2, 3, 4, 5].map((id) => all.get(id)?.body)).toEqual([
    { name: "Error", message: "there is no action fly", kind: "not_found" },
    { name: "Error", message: "the hub could not do this", kind: "internal" },
    { name: "Error", message: "a name is required", kind: "invalid" },
    { name: "Error", message: "the door has no such call", kind: "not_found" },
  ]);
  expect(all.get(6)).toEqual({ ok: true, body: null });
});

test("a second connection is closed at once, and the first goes on", async () => {
  const first = dial();
  first.send({ id: 1, op: "act", action: "text" });
  await first.answers(1);
  await dial().closed;
  first.send({ id: 2, op: "act", action: "text" });
  expect((await first.answers(1)).get(2)?.ok).toBe(true);
});

test("after its end a script is refused everything, another end too", async () => {
  const { send, answers } = dial();
  send(
    { id: 1, op: "end", ok: false },
    { name: "TypeError", message: "boom", line: 3, stack: "at" },
  );
  send({ id: 2, op: "act", action: "text" });
  send({ id: 3, op: "end", ok: true }, "another");
  const all = await answers(3);
  expect([2, 3].map((id) => all.get(id)?.body)).toMatchObject([
    { kind: "conflict", message: "the script has ended" },
    { kind: "conflict" },
  ]);
  expect(door.said).toEqual({
    error: { name: "TypeError", message: "boom", line: 3, stack: "at" },
  });
  expect(said).toBe(1);
});

test(`no more than ${DOOR_LIMITS.calls} calls are under way; the others wait, and all are answered`, async () => {
  const { send, answers } = dial();
  const n = DOOR_LIMITS.calls + 5;
  for (let id = 1; id <= n; id += 1) send({ id, op: "act", action: "wait" });
  while (acting.length < DOOR_LIMITS.calls) await new Promise(setImmediate);
  send({ id: "last", op: "act", action: "text" });
  expect(acting.length).toBe(DOOR_LIMITS.calls);
  const answered = answers(n + 1);
  while (door.actions < n + 1) {
    for (const { release } of acting.splice(0)) release();
    await new Promise(setImmediate);
  }
  for (const { release } of acting.splice(0)) release();
  expect([...(await answered).keys()]).toContain("last");
});

test("a body that is too long is skipped and refused, bytes one by one are a frame too, a long header ends it", async () => {
  const { socket, send, answers, closed } = dial();
  send({ id: 1, op: "log", level: "info" }, { message: "x".repeat(DOOR_LIMITS.log) });
  for (const byte of writeFrame({ id: 2, op: "act", action: "text" }, "{}"))
    socket.write(new Uint8Array([byte]));
  const all = await answers(2);
  expect(all.get(1)?.body).toMatchObject({
    kind: "too_large",
    message: "log: more bytes than are allowed",
  });
  expect(all.get(2)?.ok).toBe(true);
  send({ id: 3, op: "act", action: "x".repeat(DOOR_LIMITS.header) });
  await closed;
});

test("closing it ends the calls under way and waits for them", async () => {
  const { send, closed } = dial();
  send({ id: 1, op: "act", action: "wait" });
  while (acting.length === 0) await new Promise(setImmediate);
  await door.close();
  expect(acting[0]?.signal.aborted).toBe(true);
  await closed;
});
