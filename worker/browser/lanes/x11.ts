import { connect, type Socket } from "node:net";
import { setDeadline } from "#shared/kit/clock.ts";
import { xHello } from "./x-authority.ts";

/**
 * The little of the X11 protocol that a window keeper needs: which windows are on the screen, and where they should
 * be.
 */

export interface Size {
  width: number;
  height: number;
}

export interface Place extends Size {
  x: number;
  y: number;
}

/** What happens on the screen. `own`: the window places itself (menus, tooltips), and nobody else may. */
export type ScreenEvent =
  | { type: "created" | "placed"; window: number; place: Place; own: boolean }
  | { type: "mapped"; window: number; own: boolean }
  | { type: "unmapped" | "destroyed"; window: number };

export interface XScreen {
  root: number;
  /** The size when the connection was opened; changes arrive as `placed` events of the root. */
  size: Size;
  place(window: number, place: Place): void;
  /** Resolves when the server is gone or this side has closed the connection. */
  readonly closed: Promise<void>;
  close(): void;
}

const SETUP_HEAD = 8;
const MESSAGE = 32;
const REPLY = 1;
const GENERIC_EVENT = 35;
const CODE = { create: 16, destroy: 17, unmap: 18, map: 19, configure: 22 } as const;
/** StructureNotify and SubstructureNotify: events of the screen itself, and of the windows on it. */
const EVENT_MASK = 0x20000 | 0x80000;

/** `words` as a request: its length is counted in words of four bytes. */
function request(opcode: number, words: number[]): Buffer {
  const bytes = Buffer.alloc(4 + 4 * words.length);
  bytes[0] = opcode;
  bytes.writeUInt16LE(bytes.length / 4, 2);
  for (const [i, word] of words.entries()) bytes.writeInt32LE(word | 0, 4 + 4 * i);
  return bytes;
}

const selectEvents = (window: number): Buffer => request(2, [window, 0x800, EVENT_MASK]);
const configure = (window: number, { x, y, width, height }: Place): Buffer =>
  request(12, [window, 0b1111, x, y, width, height]);

const padded = (length: number): number => (length + 3) & ~3;

/** Length of the server's first message; null while it is not yet known. */
const setupLength = (bytes: Buffer): number | null =>
  bytes.length < SETUP_HEAD ? null : SETUP_HEAD + 4 * bytes.readUInt16LE(6);

/** @throws when the server refused. */
function readSetup(bytes: Buffer): { root: number; size: Size } {
  if (bytes[0] !== 1)
    throw new Error(`X refused: ${bytes.toString("latin1", 8, 8 + (bytes[1] ?? 0))}`);
  const at = 40 + padded(bytes.readUInt16LE(24)) + 8 * (bytes[29] ?? 0);
  const size = { width: bytes.readUInt16LE(at + 20), height: bytes.readUInt16LE(at + 22) };
  return { root: bytes.readUInt32LE(at), size };
}

/** Length of the message that begins with `bytes`, which holds at least 32 of them. */
function messageLength(bytes: Buffer): number {
  const code = (bytes[0] ?? 0) & 0x7f;
  return code === REPLY || code === GENERIC_EVENT ? MESSAGE + 4 * bytes.readUInt32LE(4) : MESSAGE;
}

const readPlace = (bytes: Buffer, at: number): Place => ({
  x: bytes.readInt16LE(at),
  y: bytes.readInt16LE(at + 2),
  width: bytes.readUInt16LE(at + 4),
  height: bytes.readUInt16LE(at + 6),
});

/** Null for an event that nobody needs. */
function readEvent(bytes: Buffer): ScreenEvent | null {
  const window = bytes.readUInt32LE(8);
  switch ((bytes[0] ?? 0) & 0x7f) {
    case CODE.create:
      return { type: "created", window, place: readPlace(bytes, 12), own: bytes[22] === 1 };
    case CODE.configure:
      return { type: "placed", window, place: readPlace(bytes, 16), own: bytes[26] === 1 };
    case CODE.map:
      return { type: "mapped", window, own: bytes[12] === 1 };
    case CODE.unmap:
      return { type: "unmapped", window };
    case CODE.destroy:
      return { type: "destroyed", window };
    default:
      return null;
  }
}

/**
 * Connects to the X server with that number on this machine, and reports what happens on its screen from then on.
 * @throws when it refuses, or does not answer within `ms`.
 */
export async function openScreen(
  number: number,
  cookie: Uint8Array,
  ms: number,
  onEvent: (event: ScreenEvent) => void,
): Promise<XScreen> {
  const socket = connect({ path: `/tmp/.X11-unix/X${number}` });
  const ready = Promise.withResolvers<{ root: number; size: Size }>();
  const closed = Promise.withResolvers<void>();
  const cancel = setDeadline(ms, () => socket.destroy(new Error("X does not answer")));
  socket.on("error", (err) => ready.reject(err));
  socket.on("close", () => {
    ready.reject(new Error("X closed the connection"));
    closed.resolve();
  });
  readMessages(socket, ready.resolve, onEvent);
  socket.write(xHello(cookie));
  try {
    const { root, size } = await ready.promise;
    socket.write(selectEvents(root));
    return {
      root,
      size,
      place: (window, place) => void socket.write(configure(window, place)),
      closed: closed.promise,
      close: () => socket.destroy(),
    };
  } finally {
    cancel();
  }
}

function readMessages(
  socket: Socket,
  onSetup: (setup: { root: number; size: Size }) => void,
  onEvent: (event: ScreenEvent) => void,
): void {
  let buffer: Buffer = Buffer.alloc(0);
  let set_up = false;
  /** The next whole message, if there is one. */
  const next = (): Buffer | null => {
    if (set_up && buffer.length < MESSAGE) return null;
    const length = set_up ? messageLength(buffer) : setupLength(buffer);
    if (length === null || buffer.length < length) return null;
    const message = buffer.subarray(0, length);
    buffer = buffer.subarray(length);
    return message;
  };
  socket.on("data", (chunk: Buffer) => {
    try {
      buffer = buffer.length === 0 ? chunk : Buffer.concat([buffer, chunk]);
      for (let message = next(); message !== null; message = next()) {
        const event = set_up ? readEvent(message) : null;
        if (event) onEvent(event);
        if (!set_up) onSetup(readSetup(message));
        set_up = true;
      }
    } catch (err) {
      socket.destroy(err as Error);
    }
  });
}
