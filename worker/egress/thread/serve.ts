import type { MessagePort } from "node:worker_threads";
import { systemClock } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import { silentLog } from "#shared/kit/log.ts";
import { createContacts } from "../contacts.ts";
import { type Door, openDoor } from "../door.ts";
import { createFleetPlaces, type FleetPlaces } from "../fleet-places.ts";
import { bothJudges, createJudge, type Judge, type Resolve } from "../judge.ts";
import { createResolver } from "../resolve.ts";
import { socks5 } from "../socks.ts";
import type { Way } from "../way.ts";
import {
  type Counts,
  OPEN,
  RECEIVED,
  SENT,
  type ToThread,
  type ToWorker,
  type WayData,
} from "./messages.ts";

/**
 * The thread that runs the gates of a worker's lanes: their traffic does not wait for the event loop that records it.
 * An unexpected error ends the thread and with it all its connections and listeners; `gates.ts` starts it again.
 */

/** The worker remembers names; here they are kept only for the connections of one page. */
const NAMES_KEPT_MS = 5_000;

interface OpenDoor {
  door: Door;
  contacts: ReturnType<typeof createContacts>;
}

interface State {
  say(message: ToWorker): void;
  /** The worker's own judge. */
  judge: Judge;
  own_ports: Set<number>;
  fleet: FleetPlaces;
  resolve: Resolve;
  answered(message: Extract<ToThread, { kind: "resolved" }>): void;
  doors: Map<number, OpenDoor>;
}

let state: State | null = null;

export function hear({ data }: MessageEvent<ToThread>): void {
  if (data.kind === "begin") state = begin(data);
  else if (state) obey(state, data);
}

function begin(message: Extract<ToThread, { kind: "begin" }>): State {
  const { answers, bell, judge, own_places, places } = message;
  const say = sayBy(answers, bell);
  const { ask, answered } = askWorker(say);
  const resolve = createResolver(systemClock, ask, NAMES_KEPT_MS);
  // The worker has the same places, and reports those that do not resolve.
  const fleet = createFleetPlaces(own_places, { resolve, clock: systemClock, log: silentLog });
  if (places.length > 0) fleet.tell(places);
  const own_ports = new Set(judge.own_ports);
  const own = createJudge({ ...judge, own_ports, protected: fleet }, resolve);
  return { say, judge: own, own_ports, fleet, resolve, answered, doors: new Map() };
}

/** Answers wait in a port that the worker empties whenever it needs to know; the bell tells it that there are some. */
function sayBy(answers: MessagePort, bell: Int32Array<SharedArrayBuffer>): State["say"] {
  return (message) => {
    answers.postMessage(message);
    if (Atomics.exchange(bell, 0, 1) === 0) postMessage(null);
  };
}

function askWorker(say: State["say"]): { ask: Resolve; answered: State["answered"] } {
  const waiting = new Map<number, PromiseWithResolvers<string[]>>();
  let asked = 0;
  return {
    ask: (host) => {
      const answer = Promise.withResolvers<string[]>();
      waiting.set(++asked, answer);
      say({ kind: "resolve", ask: asked, host });
      return answer.promise;
    },
    answered: ({ ask, addresses, reason }) => {
      const answer = waiting.get(ask);
      waiting.delete(ask);
      if (addresses) answer?.resolve(addresses);
      else answer?.reject(new Error(reason));
    },
  };
}

function obey(at: State, message: Exclude<ToThread, { kind: "begin" }>): void {
  switch (message.kind) {
    case "open":
      open(at, message);
      break;
    case "go":
      go(at, message);
      break;
    case "close":
      close(at, message);
      break;
    case "places":
      at.fleet.tell(message.places);
      break;
    case "resolved":
      at.answered(message);
      break;
    case "stop":
      for (const { door } of at.doors.values()) door.close();
      process.exit(0);
  }
}

function go(at: State, message: Extract<ToThread, { kind: "go" }>): void {
  const { gate, step, way, cut, forget } = message;
  const one = at.doors.get(gate);
  if (one) {
    one.door.go(wayOf(at, way));
    if (cut) one.door.cut();
    if (forget) one.contacts.clear();
  }
  const error = one ? null : "it is not open";
  at.say({ kind: "done", gate, step, port: one?.door.port ?? 0, error });
}

function close(at: State, { gate, step }: Extract<ToThread, { kind: "close" }>): void {
  const one = at.doors.get(gate);
  at.doors.delete(gate);
  if (one) at.own_ports.delete(one.door.port);
  one?.door.close();
  at.say({ kind: "done", gate, step, port: 0, error: null });
}

function open(at: State, message: Extract<ToThread, { kind: "open" }>): void {
  const { gate, step, port, way, counts } = message;
  const contacts = createContacts();
  // A gate that could not be opened is tried again, and may be open by then.
  at.doors.get(gate)?.door.close();
  try {
    const door = openDoor({
      ...{ speaks: socks5, way: wayOf(at, way), resolve: at.resolve, port },
      settled: at.fleet.settled,
      contacts: {
        at: contacts.at,
        made: (host, to, address) => {
          contacts.made(host, to, address);
          at.say({ kind: "made", gate, host, port: to, address });
        },
        failed: (host, to, err) => {
          contacts.failed(host, to, err);
          const { failure, message: words } = err;
          at.say({ kind: "failed", gate, host, port: to, failure, message: words });
        },
      },
      ...counting(counts),
    });
    // No lane may use another lane's gate.
    at.own_ports.add(door.port);
    at.doors.set(gate, { door, contacts });
    at.say({ kind: "done", gate, step, port: door.port, error: null });
  } catch (err) {
    at.say({ kind: "done", gate, step, port, error: errorMessage(err) });
  }
}

const counting = (counts: Counts) => ({
  onReceived: (bytes: number) => void Atomics.add(counts, RECEIVED, BigInt(bytes)),
  onSent: (bytes: number) => void Atomics.add(counts, SENT, BigInt(bytes)),
  onOpen: (count: number) => void Atomics.store(counts, OPEN, BigInt(count)),
});

const wayOf = ({ judge, resolve }: State, { judges, upstream }: WayData): Way => ({
  judge: judges.reduce((all, one) => bothJudges(all, createJudge(one, resolve)), judge),
  upstream,
});
