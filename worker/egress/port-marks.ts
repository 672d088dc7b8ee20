import { readFileSync } from "node:fs";
import { systemClock } from "#shared/kit/clock.ts";
import { newToken } from "#shared/protocol/ids.ts";

/**
 * Workers of one machine tell each other which of its ports are their lanes', by the names of abstract sockets. The
 * kernel keeps these by network namespace, as it keeps loopback: whoever can connect to such a port sees its mark,
 * whatever the other worker's account, hub or data directory, and a mark is gone with the last process that holds its
 * socket, however that ends. Another local user can make marks too, and thereby only keep lanes from ports of this
 * machine.
 */
const PREFIX = "flotilla-lane-ports:";
const SOCKETS = "/proc/net/unix";

/** Consecutive ports, both ends included. */
type Range = readonly [from: number, to: number];

export interface PortMarks {
  /** The sockets: a process that inherits them keeps the marks. */
  readonly fds: readonly number[];
  /** Marks further ports. @throws when the kernel gives no socket. */
  add(ports: Iterable<number>): void;
  remove(): void;
}

function rangesOf(ports: Iterable<number>): Range[] {
  const ranges: [number, number][] = [];
  for (const port of [...new Set(ports)].sort((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last && port === last[1] + 1) last[1] = port;
    else ranges.push([port, port]);
  }
  return ranges;
}

/** Two workers that were given the same ports by mistake learn of that elsewhere, so names differ. */
const listenAs = ([from, to]: Range) =>
  Bun.listen({
    unix: `\0${PREFIX}${from}-${to}:${newToken().slice(0, 12)}`,
    socket: { open: (socket) => void socket.terminate(), data: () => {} },
  });

/** Marks ports as those of lanes until `remove`. @throws when the kernel gives no socket. */
export function markPorts(ports: Iterable<number>): PortMarks {
  const sockets: ReturnType<typeof listenAs>[] = [];
  const remove = () => {
    for (const socket of sockets.splice(0)) socket.stop(true);
    last.at = Number.NEGATIVE_INFINITY;
  };
  const add = (more: Iterable<number>) => {
    try {
      for (const range of rangesOf(more)) sockets.push(listenAs(range));
    } catch (err) {
      remove();
      throw err;
    }
    for (const socket of sockets) socket.unref();
    last.at = Number.NEGATIVE_INFINITY;
  };
  add(ports);
  return {
    get fds() {
      // Bun's types do not have it.
      return sockets.map((socket) => (socket as typeof socket & { readonly fd: number }).fd);
    },
    add,
    remove,
  };
}

/** Whether any worker of this machine has marked the port. */
export const isMarked = (port: number): boolean =>
  marks().some(([from, to]) => port >= from && port <= to);

/** Whether this process sees marks at all. */
export const seesMarks = (): boolean => read() !== null;

const MARK = new RegExp(`@${PREFIX}(\\d{1,5})-(\\d{1,5}):`, "g");

/** Reading takes 0.2 ms. Marks are set before their lane's programs start, and none of these listens this soon. */
const FRESH_MS = 20;
let last: { at: number; ranges: readonly Range[] } = { at: Number.NEGATIVE_INFINITY, ranges: [] };

function marks(): readonly Range[] {
  const now = systemClock.monotonic();
  if (now - last.at < FRESH_MS) return last.ranges;
  // What cannot be read now, for want of a file descriptor, is still there.
  last = { at: now, ranges: read() ?? last.ranges };
  return last.ranges;
}

function read(): Range[] | null {
  try {
    const found = readFileSync(SOCKETS, "utf8").matchAll(MARK);
    return [...found].map(([, from, to]) => [Number(from), Number(to)]);
  } catch {
    return null;
  }
}
