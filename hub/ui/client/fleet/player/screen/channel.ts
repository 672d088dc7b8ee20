/**
 * A server of RFB that says what was recorded, in the shape of a WebSocket, which is what noVNC takes. It answers the
 * handshake by itself and needs nothing of what the client says.
 */
export interface RecordedChannel {
  /** For noVNC. */
  readonly socket: object;
  /** Says the handshake; then `give` may be called. */
  begin(): void;
  give(bytes: Uint8Array): void;
}

interface Socket {
  binaryType: string;
  protocol: string;
  readyState: "open" | "closed";
  onopen: (() => void) | null;
  onmessage: ((event: { data: ArrayBuffer }) => void) | null;
  onclose: ((event: { code: number; reason: string }) => void) | null;
  onerror: (() => void) | null;
  send(): void;
  close(): void;
}

const NORMAL = 1_000;

/**
 * What a server says in a handshake without a password, RFB 3.8: 32 bits a pixel, little-endian, red lowest. One message
 * for each step, because noVNC takes one step for each message it gets, and would leave what follows the last one unread.
 */
function handshakeOf(width: number, height: number): Uint8Array[] {
  const version = new TextEncoder().encode("RFB 003.008\n");
  const [one_type, none] = [1, 1];
  const ok = [0, 0, 0, 0];
  const size = [width >> 8, width & 0xff, height >> 8, height & 0xff];
  const format = [32, 24, 0, 1, 0, 255, 0, 255, 0, 255, 0, 8, 16, 0, 0, 0];
  const no_name = [0, 0, 0, 0];
  return [version, [one_type, none], ok, [...size, ...format, ...no_name]].map((step) =>
    Uint8Array.from(step),
  );
}

export function recordedChannel(width: number, height: number): RecordedChannel {
  const socket: Socket = {
    binaryType: "arraybuffer",
    protocol: "binary",
    readyState: "open",
    onopen: null,
    onmessage: null,
    onclose: null,
    onerror: null,
    send: () => {},
    close: () => {
      if (socket.readyState === "closed") return;
      socket.readyState = "closed";
      // A socket says so later, and noVNC counts on that.
      queueMicrotask(() => socket.onclose?.({ code: NORMAL, reason: "" }));
    },
  };
  const give = (bytes: Uint8Array) => {
    if (socket.readyState === "open" && bytes.length > 0)
      socket.onmessage?.({ data: bytes.slice().buffer });
  };
  const begin = () => {
    for (const step of handshakeOf(width, height)) give(step);
  };
  return { socket, begin, give };
}
