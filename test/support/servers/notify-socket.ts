import { dlopen, ptr } from "bun:ffi";
import { until } from "../rigs/fleet-process.ts";

/** Stands in for systemd at the other end of NOTIFY_SOCKET: what a service told it, as `NAME=value` lines in their order. */
export interface NotifySocket {
  /** For NOTIFY_SOCKET. */
  path: string;
  readonly lines: readonly string[];
  /** How many lines have begun with `prefix`. */
  count(prefix: string): number;
  /** Resolves when one of the lines so far begins with `prefix`; rejects after `ms`. */
  says(prefix: string, ms?: number): Promise<void>;
  close(): void;
}

const [AF_UNIX, SOCK_DGRAM, MSG_DONTWAIT] = [1, 2, 0x40];
const READ_EVERY_MS = 20;
const MOST_BYTES = 4_096;

/** Binds `path`: a file, or after `@` a name of the abstract namespace. */
export function openNotifySocket(path: string): NotifySocket {
  const { symbols: libc } = dlopen("libc.so.6", {
    socket: { args: ["i32", "i32", "i32"], returns: "i32" },
    bind: { args: ["i32", "ptr", "u32"], returns: "i32" },
    recv: { args: ["i32", "ptr", "u64", "i32"], returns: "i64" },
    close: { args: ["i32"], returns: "i32" },
  });
  const fd = libc.socket(AF_UNIX, SOCK_DGRAM, 0);
  const name = path.startsWith("@") ? `\0${path.slice(1)}` : `${path}\0`;
  const address = Buffer.concat([Buffer.from([AF_UNIX, 0]), Buffer.from(name)]);
  if (libc.bind(fd, ptr(address), address.length) !== 0) throw new Error(`cannot bind ${path}`);
  const lines: string[] = [];
  const buffer = Buffer.alloc(MOST_BYTES);
  const read = () => {
    for (;;) {
      const got = Number(libc.recv(fd, ptr(buffer), buffer.length, MSG_DONTWAIT));
      if (got < 0) return;
      lines.push(...buffer.toString("utf8", 0, got).split("\n"));
    }
  };
  let reading: Timer;
  const readAgain = () => {
    read();
    reading = setTimeout(readAgain, READ_EVERY_MS);
  };
  readAgain();
  const count = (prefix: string) => lines.filter((line) => line.startsWith(prefix)).length;
  return {
    path,
    lines,
    count,
    says: async (prefix, ms = 60_000) =>
      void (await until(`${prefix} at ${path}`, ms, () => count(prefix) > 0)),
    close: () => {
      clearTimeout(reading);
      libc.close(fd);
    },
  };
}
