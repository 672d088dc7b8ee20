import { chownSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import type { Clock } from "#shared/kit/clock.ts";
import { AppError, errorMessage } from "#shared/kit/errors.ts";
import { parseJson } from "#shared/kit/json.ts";
import type { Log } from "#shared/kit/log.ts";
import { SESSION_ACTIONS, type SessionActionName } from "#shared/protocol/schema/session.ts";
import { createFrameReader, type DoorFrame, writeFrame } from "./frames.ts";
import { DOOR_LIMITS } from "./limits.ts";
import type { ScriptDoor, ScriptOutcome } from "./types.ts";

/** What the script said last: its result, or what it threw. */
export type ScriptSaid = { result: unknown } | { error: NonNullable<ScriptOutcome["error"]> };

export interface OpenDoor {
  /** What the script said when it ended; null when it has said nothing. */
  readonly said: ScriptSaid | null;
  readonly actions: number;
  /** Whether the script's side has come up. */
  readonly connected: boolean;
  /** `performance.now()` of the first action. */
  readonly first_action_at: number | null;
  /** Refuses every further call, ends those under way and waits for them. Idempotent. */
  close(): Promise<void>;
}

interface DoorOptions {
  clock: Clock;
  log: Log;
  path: string;
  /** The user who may connect, when it is not the hub's own. */
  uid: number | null;
  door: ScriptDoor;
  /** Called when the script's side has come up. */
  onConnect: () => void;
  /** Called when the script has said how it ended. */
  onSaid: () => void;
}

/** After this long, calls that ignore their signal are abandoned. */
const SETTLE_MS = 5_000;

interface Refused {
  name: string;
  message: string;
  kind: string;
}

/**
 * The sandbox's only way out: a socket that takes one connection in its life, on which a script acts, saves, logs and says
 * how it ended. What is more than `DOOR_LIMITS` waits in the script's own buffers, so a flood costs the hub nothing.
 */
export async function openDoor(options: DoorOptions): Promise<OpenDoor> {
  const { clock, log, path, uid, door, onConnect, onSaid } = options;
  const over = new AbortController();
  const under_way = new Set<Promise<void>>();
  let held = 0;
  let tokens: number = DOOR_LIMITS.burst;
  let counted_at = performance.now();
  let said: ScriptSaid | null = null;
  let actions = 0;
  let first_action_at: number | null = null;
  let connection: Socket | null = null;

  const reply = (id: unknown, ok: boolean, value: unknown): void => {
    connection?.write(writeFrame({ id, ok }, JSON.stringify(value ?? null)));
  };
  const perform = async (header: DoorFrame["header"], body: Uint8Array): Promise<unknown> => {
    switch (header.op) {
      case "act": {
        const action = String(header.action);
        if (!isAction(action)) throw new AppError("not_found", `there is no action ${action}`);
        actions += 1;
        first_action_at ??= performance.now();
        return door.act(action, jsonOf(body), over.signal);
      }
      case "save": {
        const mime = typeof header.mime === "string" ? header.mime : null;
        return door.save(String(header.name), mime, body);
      }
      case "log":
        return logTo(door, header.level, jsonOf(body));
      case "end":
        said = header.ok === true ? { result: jsonOf(body) } : { error: errorOf(jsonOf(body)) };
        onSaid();
        return null;
      default:
        throw new AppError("not_found", "the door has no such call");
    }
  };
  const answer = async ({ header, body }: DoorFrame): Promise<void> => {
    const size = body?.length ?? 0;
    held += size;
    try {
      if (said !== null) throw new AppError("conflict", "the script has ended");
      if (body === null)
        throw new AppError("too_large", `${header.op}: more bytes than are allowed`);
      reply(header.id, true, await perform(header, body));
    } catch (err) {
      if (!(err instanceof AppError) && !over.signal.aborted)
        log.warn({ err, op: header.op }, "a call of a script failed");
      reply(header.id, false, refusalOf(err));
    } finally {
      held -= size;
    }
  };
  /** Whether the next call may be taken now. */
  const hasRoom = (): boolean => {
    const now = performance.now();
    tokens = Math.min(
      DOOR_LIMITS.burst,
      tokens + ((now - counted_at) * DOOR_LIMITS.per_second) / 1_000,
    );
    counted_at = now;
    const unread = connection?.writableLength ?? 0;
    return under_way.size < DOOR_LIMITS.calls && held + unread < DOOR_LIMITS.bytes && tokens >= 1;
  };
  const serve = (socket: Socket): void => {
    connection = socket;
    onConnect();
    const reader = createFrameReader({
      header_bytes: DOOR_LIMITS.header,
      bodyBytes: ({ op }) => LIMITS.get(op) ?? DOOR_LIMITS.log,
    });
    const waiting: DoorFrame[] = [];
    let pumping = false;
    /** Takes calls as there is room, and reads on when none waits. */
    const pump = async (): Promise<void> => {
      if (pumping) return;
      pumping = true;
      for (let next = waiting[0]; next && !over.signal.aborted; next = waiting[0]) {
        if (!hasRoom()) {
          socket.pause();
          const tick = new AbortController();
          await Promise.race([...under_way, clock.sleep(PAUSE_MS, tick.signal)]);
          tick.abort();
          continue;
        }
        waiting.shift();
        tokens -= 1;
        const call = answer(next).finally(() => under_way.delete(call));
        under_way.add(call);
      }
      pumping = false;
      socket.resume();
    };
    socket.on("data", (chunk: Buffer) => {
      try {
        waiting.push(...reader.push(chunk));
      } catch (err) {
        log.warn({ err: errorMessage(err) }, "a script broke the protocol of its door");
        socket.destroy();
        return;
      }
      void pump();
    });
    socket.on("error", () => socket.destroy());
  };
  const server = createServer((socket) => {
    // One connection in a door's life: nothing else in the sandbox can use it.
    if (connection !== null || over.signal.aborted) socket.destroy();
    else serve(socket);
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, resolve);
  });
  if (uid !== null) chownSync(path, uid, uid);

  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    over.abort();
    server.close();
    connection?.destroy();
    const late = new AbortController();
    await Promise.race([Promise.allSettled(under_way), clock.sleep(SETTLE_MS, late.signal)]);
    late.abort();
  };
  return {
    get said() {
      return said;
    },
    get connected() {
      return connection !== null;
    },
    get actions() {
      return actions;
    },
    get first_action_at() {
      return first_action_at;
    },
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}

/** How long a call at most waits beyond the moment when there is room for it. */
const PAUSE_MS = 20;
const LIMITS = new Map<unknown, number>([
  ["act", DOOR_LIMITS.act],
  ["save", DOOR_LIMITS.save],
  ["end", DOOR_LIMITS.end],
]);

const isAction = (name: string): name is SessionActionName => Object.hasOwn(SESSION_ACTIONS, name);

/** @throws AppError bad_request */
function jsonOf(body: Uint8Array): unknown {
  try {
    return parseJson(new TextDecoder().decode(body));
  } catch (err) {
    throw new AppError("bad_request", `the body is not JSON: ${errorMessage(err)}`);
  }
}

const objectOf = (value: unknown): Record<string, unknown> =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};

const LEVELS = ["debug", "info", "warn", "error"] as const;

async function logTo(door: ScriptDoor, level: unknown, said: unknown): Promise<null> {
  const { message, fields } = objectOf(said);
  const known = LEVELS.find((one) => one === level) ?? "info";
  await door.log(known, String(message), objectOf(fields));
  return null;
}

/** What a script says it threw, cut to size: it may say anything. */
function errorOf(said: unknown): NonNullable<ScriptOutcome["error"]> {
  const { name, message, line, stack } = objectOf(said);
  return {
    name: String(name).slice(0, 200),
    message: String(message).slice(0, 20_000),
    line: Number.isInteger(line) && Number(line) > 0 ? Number(line) : null,
    stack: String(stack ?? "").slice(0, 20_000),
  };
}

/** An AppError as the script sees it: with the name and words of the action's own error where there is one. */
function refusalOf(err: unknown): Refused {
  if (!(err instanceof AppError))
    return { name: "Error", message: "the hub could not do this", kind: "internal" };
  const { name, message } = objectOf(err.body.error);
  const own = err.kind === "timed_out" ? "TimeoutError" : "Error";
  return {
    name: typeof name === "string" ? name : own,
    message: typeof message === "string" ? message : err.message,
    kind: err.kind,
  };
}
