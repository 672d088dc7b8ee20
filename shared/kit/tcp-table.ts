/** A connection, or a socket that listens, as a line of /proc/net/tcp or tcp6 shows it. */
interface TcpRow {
  local_port: number;
  /** 0 of one that listens. */
  remote_port: number;
  listens: boolean;
  /** Bytes that the other side has not confirmed yet; of one that listens, a number of connections. */
  unsent: number;
  /** Bytes that its program has not read yet; of one that listens, a number of connections. */
  unread: number;
  /** Its descriptors are named `socket:[inode]`. */
  inode: string;
}

/** Ports, state, queues and inode of a line; numbers are hexadecimal, but for the inode. */
const ROW =
  /^ *\d+: [0-9A-F]+:([0-9A-F]{4}) [0-9A-F]+:([0-9A-F]{4}) ([0-9A-F]{2}) ([0-9A-F]{8}):([0-9A-F]{8}) \S+ +\S+ +\d+ +\d+ +(\d+)/gm;

const LISTENS = "0A";

const hex = (text: string | undefined): number => Number.parseInt(text ?? "0", 16);

/** The rows of one table. */
export function* tcpRows(table: string): Generator<TcpRow> {
  for (const [, local, remote, state, unsent, unread, inode = ""] of table.matchAll(ROW))
    yield {
      local_port: hex(local),
      remote_port: hex(remote),
      listens: state === LISTENS,
      unsent: hex(unsent),
      unread: hex(unread),
      inode,
    };
}
