import { dlopen, ptr } from "bun:ffi";

/** Values for Linux, on every processor Bun runs on. */
const AF_UNIX = 1;
const SOCK_DGRAM = 2;
const SOCK_CLOEXEC = 0o2000000;
const MSG_DONTWAIT = 0x40;
const MSG_NOSIGNAL = 0x4000;
/** `sun_path` of sockaddr_un. */
const MAX_PATH_BYTES = 107;
const LIBRARIES = ["libc.so.6", "libc.musl-x86_64.so.1", "libc.musl-aarch64.so.1"];

function openLibc() {
  for (const name of LIBRARIES)
    try {
      return dlopen(name, {
        socket: { args: ["i32", "i32", "i32"], returns: "i32" },
        sendto: { args: ["i32", "ptr", "u64", "i32", "ptr", "u32"], returns: "i64" },
      });
    } catch {
      // Try the next one.
    }
  return null;
}

/** sockaddr_un: a path or, after `@`, a name in Linux' abstract namespace, which begins with a zero byte. */
function socketAddress(path: string): Uint8Array {
  const name = Buffer.from(path.startsWith("@") ? `\0${path.slice(1)}` : `${path}\0`);
  const family = Buffer.alloc(2);
  new Uint16Array(family.buffer, family.byteOffset, 1)[0] = AF_UNIX;
  return Buffer.concat([family, name]);
}

/**
 * Opens a socket that sends datagrams to the unix socket `path`, which neither Bun 1.4.5 nor node:dgram can.
 * @returns a function that sends one text immediately, or returns false if the receiver is away or its queue is full.
 * Null if there can be no such socket: no known C library, or a path that is too long.
 */
export function openDatagrams(path: string): ((text: string) => boolean) | null {
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) return null;
  const libc = openLibc();
  if (libc === null) return null;
  const { socket, sendto } = libc.symbols;
  const fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return null;
  const address = socketAddress(path);
  return (text) => {
    const bytes = Buffer.from(text);
    const flags = MSG_DONTWAIT | MSG_NOSIGNAL;
    const sent = sendto(fd, ptr(bytes), bytes.length, flags, ptr(address), address.length);
    return Number(sent) === bytes.length;
  };
}
