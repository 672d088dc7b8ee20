import { readFileSync } from "node:fs";
import { tcpRows } from "#shared/kit/tcp-table.ts";

/** What the sockets of one network hold for their programs, read from /proc. */
export interface HeldBySockets {
  /** Of every kind; one counts as long as anything keeps it, a message under way between two others too. */
  sockets: number;
  /** In the queues of TCP, which the kernel may let grow to megabytes each; other kinds have some hundred kilobytes at most. */
  bytes: number;
}

const NOTHING: HeldBySockets = { sockets: 0, bytes: 0 };

/** Bytes in the queues of a table as /proc/net/tcp shows it. */
export const queuedIn = (table: string): number =>
  tcpRows(table).reduce(
    (sum, { listens, unsent, unread }) => (listens ? sum : sum + unsent + unread),
    0,
  );

const HAS_TCP = /^TCP6?: inuse (?!0\b)|^TCP: .*orphan (?!0\b)/m;

/** Those of the network that the process `pid` is in; nothing where it is gone. */
export function heldBySockets(pid: number): HeldBySockets {
  const read = (name: string) => readFileSync(`/proc/${pid}/net/${name}`, "latin1");
  try {
    const stat = read("sockstat");
    const sockets = Number(/^sockets: used (\d+)/m.exec(stat)?.[1] ?? 0);
    // The tables are those of all networks of the machine, walked for these lines: not looked at without need.
    if (!HAS_TCP.test(stat) && !HAS_TCP.test(read("sockstat6"))) return { sockets, bytes: 0 };
    return { sockets, bytes: queuedIn(read("tcp")) + queuedIn(read("tcp6")) };
  } catch {
    return NOTHING;
  }
}
