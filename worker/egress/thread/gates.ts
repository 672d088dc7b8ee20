import { MessageChannel, type MessagePort, receiveMessageOnPort } from "node:worker_threads";
import { type Clock, DeadlineError, withDeadline } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import type { FleetPlace } from "#shared/protocol/link/messages.ts";
import { type Contacts, createContacts } from "../contacts.ts";
import { tellRefusal } from "../door.ts";
import { type Gate, gateOver } from "../gate.ts";
import type { JudgeSettings, Resolve } from "../judge.ts";
import { EgressError } from "../reach.ts";
import { createNarrowings, type Narrowings, type Way } from "../way.ts";
import {
  type Counts,
  type JudgeData,
  OPEN,
  RECEIVED,
  SENT,
  type ToThread,
  type ToWorker,
  type WayData,
} from "./messages.ts";

/** The gates of a worker, in a thread of their own, which runs from the first one's opening to the last one's closing. */
export interface ThreadGates {
  /** @throws when the thread does not start, or no port is free */
  open(base: Way): Promise<Gate>;
  /** Sets the other places of the fleet that nobody may open. */
  tell(places: readonly FleetPlace[]): void;
}

export interface ThreadGatesDeps {
  /** Settings of the worker's own judge; every way is narrower. */
  judge: JudgeSettings;
  /** The places of the fleet that the worker itself knows. */
  own_places: readonly FleetPlace[];
  resolve: Resolve;
  clock: Clock;
  log: Log;
  startThread?: () => Worker;
}

/**
 * It is next to this file; in the compiled program, whose modules are all in one place, `scripts/build.ts` puts it
 * there.
 */
const THREAD = new URL("./gates-thread.ts", import.meta.url).href;
const realThread = () => new Worker(THREAD, { smol: true });

/** Deadline for answers of a thread that only moves bytes; one that does not answer in this time is given up. */
const ANSWER_MS = 20_000;
const STOP_MS = 3_000;
const RESTART_MS = 500;

interface Thread {
  worker: Worker;
  answers: MessagePort;
  bell: Int32Array<SharedArrayBuffer>;
  ended: Promise<void>;
  /** It must end, or has ended. */
  over: boolean;
}

interface FarGate {
  readonly id: number;
  readonly narrowings: Narrowings;
  readonly contacts: Contacts;
  readonly counts: Counts;
  /** 0 until it is known; then it stays the same for as long as the gate lives. */
  port: number;
  /** Number of requests to it. */
  step: number;
  waiting: Waiting[];
  /** Its port was not available again; another try follows soon. */
  shut: boolean;
}

interface Waiting {
  step: number;
  /** Called in order with the thread's messages. */
  held?: (() => void) | undefined;
  done: PromiseWithResolvers<void>;
}

export function createThreadGates(deps: ThreadGatesDeps): ThreadGates {
  const { log, clock, resolve, startThread = realThread } = deps;
  const gates = new Map<number, FarGate>();
  let opened = 0;
  let told: readonly FleetPlace[] = [];
  let thread: Thread | null = null;

  const dataOf = (way: Way): WayData => ({
    judges: way.judge.settings.filter((one) => one !== deps.judge).map(judgeData),
    upstream: way.upstream,
  });
  const post = (message: ToThread) => thread?.worker.postMessage(message);
  const postOpen = (gate: FarGate) => {
    const { id, step, port, counts } = gate;
    post({ kind: "open", gate: id, step, port, counts, way: dataOf(gate.narrowings.way) });
  };

  const start = () => {
    const worker = startThread();
    const { port1: answers, port2 } = new MessageChannel();
    const bell = new Int32Array(new SharedArrayBuffer(4));
    const closed = Promise.withResolvers<void>();
    const one: Thread = { worker, answers, bell, ended: closed.promise, over: false };
    worker.onmessage = () => drain(one);
    worker.addEventListener("error", ({ message }) => broke(one, lastWords(message)));
    worker.addEventListener("close", () => {
      closed.resolve();
      broke(one, "it ended by itself");
    });
    thread = one;
    const begin: ToThread = {
      ...{ kind: "begin", answers: port2, bell },
      judge: judgeData(deps.judge),
      own_places: deps.own_places,
      places: told,
    };
    worker.postMessage(begin, [port2]);
  };
  /** Everything that the thread has said until now. */
  const drain = (one: Thread) => {
    const { answers, bell } = one;
    Atomics.store(bell, 0, 0);
    for (let next = receiveMessageOnPort(answers); next; next = receiveMessageOnPort(answers))
      take(one, next.message as ToWorker);
  };
  const take = (one: Thread, message: ToWorker) => {
    if (message.kind === "resolve") return void answer(one, message);
    const gate = gates.get(message.gate);
    if (!gate) return;
    if (message.kind === "done") return settle(gate, message);
    const { host, port } = message;
    if (message.kind === "made") return gate.contacts.made(host, port, message.address);
    const err = new EgressError(message.failure, message.message);
    gate.contacts.failed(host, port, err);
    tellRefusal(host, port, err, gate.narrowings.refused);
  };
  const answer = async (one: Thread, { ask, host }: Extract<ToWorker, { kind: "resolve" }>) => {
    const said: ToThread = await resolve(host).then(
      (addresses) => ({ kind: "resolved", ask, addresses, reason: "" }),
      (err) => ({ kind: "resolved", ask, addresses: null, reason: errorMessage(err) }),
    );
    // Another thread has its own questions with the same numbers.
    if (!one.over) one.worker.postMessage(said);
  };
  const settle = (gate: FarGate, { step, port, error }: Extract<ToWorker, { kind: "done" }>) => {
    if (error !== null) return shut(gate, error);
    if (port !== 0) gate.port = port;
    const done = gate.waiting.filter((one) => one.step <= step);
    gate.waiting = gate.waiting.filter((one) => one.step > step);
    for (const one of done) {
      one.held?.();
      one.done.resolve();
    }
  };
  /** Another process has its port for now, so its lane reaches nothing. */
  const shut = (gate: FarGate, error: string) => {
    for (const one of gate.waiting.splice(0)) one.done.reject(new Error(error));
    if (gate.port === 0 || gate.shut) return;
    gate.shut = true;
    log.error(
      { port: gate.port, error },
      "a lane reaches nothing: its gate cannot be opened again",
    );
    void clock.sleep(RESTART_MS).then(() => {
      gate.shut = false;
      if (gates.has(gate.id)) postOpen(gate);
    });
  };

  const broke = (one: Thread, reason: string) => {
    if (one.over) return;
    one.over = true;
    // Its last messages are still true.
    drain(one);
    one.answers.close();
    one.worker.terminate();
    if (thread === one) thread = null;
    const open: FarGate[] = [];
    for (const gate of gates.values()) {
      if (gate.port !== 0) open.push(gate);
      // When a thread does not even start, trying again would not help.
      else for (const { done } of gate.waiting.splice(0)) done.reject(new Error(reason));
    }
    if (open.length === 0) return;
    log.error(
      { reason, lanes: open.length },
      "the egress gates broke and are opened again: what lanes were loading is lost",
    );
    for (const gate of open) {
      Atomics.store(gate.counts, OPEN, 0n);
      gate.narrowings.broken();
    }
    void clock.sleep(RESTART_MS).then(again);
  };
  const again = () => {
    if (thread !== null || gates.size === 0) return;
    start();
    for (const gate of gates.values()) postOpen(gate);
  };

  /** Waits until the thread has done the gate's latest request. */
  const done = async (gate: FarGate, held?: () => void): Promise<void> => {
    const one: Waiting = { step: gate.step, held, done: Promise.withResolvers<void>() };
    gate.waiting.push(one);
    try {
      await withDeadline("the egress gate", ANSWER_MS, one.done.promise);
    } catch (err) {
      gate.waiting = gate.waiting.filter((other) => other !== one);
      if (thread && err instanceof DeadlineError) broke(thread, err.message);
      throw err;
    }
  };
  const stop = async () => {
    const one = thread;
    thread = null;
    if (!one) return;
    one.over = true;
    one.worker.postMessage({ kind: "stop" } satisfies ToThread);
    await withDeadline("the thread of the gates", STOP_MS, one.ended).catch((err) => {
      log.warn({ err }, "the thread of the egress gates was ended by force");
      one.worker.terminate();
    });
    one.answers.close();
  };
  const close = async (gate: FarGate) => {
    if (!gates.has(gate.id)) return;
    gate.step += 1;
    post({ kind: "close", gate: gate.id, step: gate.step });
    // One that does not answer is ended with the others.
    await (thread && done(gate).catch(() => {}));
    gates.delete(gate.id);
    if (gates.size === 0) await stop();
  };

  return {
    tell: (places) => {
      // Every heartbeat repeats them.
      if (Bun.deepEquals(places, told)) return;
      told = places;
      post({ kind: "places", places });
    },
    open: async (base) => {
      const counts = new BigInt64Array(new SharedArrayBuffer(24));
      const narrowings = createNarrowings(base);
      const gate: FarGate = {
        ...{ id: ++opened, narrowings, contacts: createContacts(), counts },
        ...{ port: 0, step: 1, waiting: [], shut: false },
      };
      gates.set(gate.id, gate);
      if (thread) postOpen(gate);
      else again();
      try {
        await done(gate);
      } catch (err) {
        await close(gate);
        throw new Error(`no egress gate could be opened: ${errorMessage(err)}`);
      }
      return gateOver(narrowings, {
        port: gate.port,
        get open() {
          return Number(Atomics.load(counts, OPEN));
        },
        totals: () => ({
          received: Number(Atomics.load(counts, RECEIVED)),
          sent: Number(Atomics.load(counts, SENT)),
        }),
        contacts: () => {
          if (thread) drain(thread);
          return gate.contacts;
        },
        go: async (way, { cut, forget }) => {
          gate.step += 1;
          const { step, id } = gate;
          post({ kind: "go", gate: id, step, way: dataOf(way), cut, forget });
          await done(gate, forget ? gate.contacts.clear : undefined);
        },
        close: () => close(gate),
      });
    },
  };
}

const judgeData = ({ protected: _, own_ports, ...rest }: JudgeSettings): JudgeData => ({
  ...rest,
  own_ports: [...own_ports],
});

/** Without the source around it, which Bun shows too. */
const lastWords = (message: string): string =>
  /^(?:\w*[eE]rror: .*)$/m.exec(message)?.[0] ?? message.slice(0, 500);
