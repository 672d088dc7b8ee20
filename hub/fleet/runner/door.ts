import { chownSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { type Clock, endsWithin } from "#shared/kit/clock.ts";
import { AppError, errorMessage } from "#shared/kit/errors.ts";
import { parseJson } from "#shared/kit/json.ts";
import type { Log } from "#shared/kit/log.ts";
import {
  isSessionAction,
  type SessionActionName,
} from "#shared/protocol/actions/session-actions.ts";
import { createFrameReader, type DoorFrame, writeFrame } from "./frames.ts";
import { DOOR_LIMITS } from "./limits.ts";
import type { ScriptDoor, ScriptOutcome } from "./script-run.ts";

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

/** How much more a script may ask for now: so many calls a second, so many at once, so many bytes. */
function createBudget() {
  let held = 0;
  let tokens: number = DOOR_LIMITS.burst;
  let counted_at = performance.now();
  return {
    /** Whether the next call may be taken; `unread`: bytes of answers that the script has not read. */
    hasRoom: (calls: number, unread: number): boolean => {
      const now = performance.now();
      tokens = Math.min(
        DOOR_LIMITS.burst,
        tokens + ((now - counted_at) * DOOR_LIMITS.per_second) / 1_000,
      );
      counted_at = now;
      return calls < DOOR_LIMITS.calls && held + unread < DOOR_LIMITS.bytes && tokens >= 1;
    },
    take: () => {
      tokens -= 1;
    },
    hold: (bytes: number) => {
      held += bytes;
    },
    free: (bytes: number) => {
      held -= bytes;
    },
  };
}

/** What a script has done through its door. */
interface Deeds {
  said: ScriptSaid | null;
  actions: number;
  first_action_at: number | null;
}

/** Does what a call asks for. @throws AppError as the script is to see it */
async function perform(
  { door, onSaid }: Pick<DoorOptions, "door" | "onSaid">,
  deeds: Deeds,
  header: DoorFrame["header"],
  body: Uint8Array,
  signal: AbortSignal,
): Promise<unknown> {
  switch (header.op) {
    case "act": {
      const action = actionOf(header);
      deeds.actions += 1;
      deeds.first_action_at ??= performance.now();
      return door.act(action, jsonOf(body), signal);
    }
    case "save": {
      const mime = typeof header.mime === "string" ? header.mime : null;
      return door.save(String(header.name), mime, body);
    }
    case "log":
      return logTo(door, header.level, jsonOf(body));
    case "end":
      deeds.said = header.ok === true ? { result: jsonOf(body) } : { error: errorOf(jsonOf(body)) };
      onSaid();
      return null;
    default:
      throw new AppError("not_found", "the door has no such call");
  }
}

/** Takes the calls of a connection as there is room for them, and reads on when none waits. */
function serveCalls(
  socket: Socket,
  { clock, log }: DoorOptions,
  over: AbortSignal,
  under_way: Set<Promise<void>>,
  answer: (frame: DoorFrame, budget: ReturnType<typeof createBudget>) => Promise<void>,
): void {
  const budget = createBudget();
  const reader = createFrameReader({
    header_bytes: DOOR_LIMITS.header,
    bodyBytes: ({ op }) => LIMITS.get(op) ?? DOOR_LIMITS.log,
  });
  const waiting: DoorFrame[] = [];
  let pumping = false;
  const pump = async (): Promise<void> => {
    if (pumping) return;
    pumping = true;
    for (let next = waiting[0]; next && !over.aborted; next = waiting[0]) {
      if (!budget.hasRoom(under_way.size, socket.writableLength)) {
        socket.pause();
        await endsWithin(clock, PAUSE_MS, Promise.race(under_way));
        continue;
      }
      waiting.shift();
      budget.take();
      const call = answer(next, budget).finally(() => under_way.delete(call));
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
}

/**
 * The sandbox's only way out: a socket that takes one connection in its life, on which a script acts, saves, logs and says
 * how it ended. What is more than `DOOR_LIMITS` waits in the script's own buffers, so a flood costs the hub nothing.
 */
export async function openDoor(options: DoorOptions): Promise<OpenDoor> {
  const { clock, log, path, uid, onConnect } = options;
  const over = new AbortController();
  const under_way = new Set<Promise<void>>();
  const deeds: Deeds = { said: null, actions: 0, first_action_at: null };
  let connection: Socket | null = null;

  const reply = (id: unknown, ok: boolean, value: unknown): void => {
    connection?.write(writeFrame({ id, ok }, JSON.stringify(value ?? null)));
  };
  const answer = async (
    { header, body }: DoorFrame,
    budget: ReturnType<typeof createBudget>,
  ): Promise<void> => {
    const size = body?.length ?? 0;
    budget.hold(size);
    try {
      if (deeds.said !== null) throw new AppError("conflict", "the script has ended");
      if (body === null)
        throw new AppError("too_large", `${header.op}: more bytes than are allowed`);
      reply(header.id, true, await perform(options, deeds, header, body, over.signal));
    } catch (err) {
      if (!(err instanceof AppError) && !over.signal.aborted)
        log.warn({ err, op: header.op }, "a call of a script failed");
      reply(header.id, false, refusalOf(err));
    } finally {
      budget.free(size);
    }
  };
  const server = createServer((socket) => {
    // One connection in a door's life: nothing else in the sandbox can use it.
    if (connection !== null || over.signal.aborted) return void socket.destroy();
    connection = socket;
    onConnect();
    serveCalls(socket, options, over.signal, under_way, answer);
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
    await endsWithin(clock, SETTLE_MS, Promise.allSettled(under_way));
  };
  return {
    get said() {
      return deeds.said;
    },
    get connected() {
      return connection !== null;
    },
    get actions() {
      return deeds.actions;
    },
    get first_action_at() {
      return deeds.first_action_at;
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

/** @throws AppError not_found */
function actionOf({ action }: DoorFrame["header"]): SessionActionName {
  const name = String(action);
  if (isSessionAction(name)) return name;
  throw new AppError("not_found", `there is no action ${name}`);
}

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
