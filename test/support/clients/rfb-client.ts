/** A person at a viewer, as bytes: an RFB 3.8 client over the hub's WebSocket (RFC 6143), without a picture. */
export interface RfbClient {
  width: number;
  height: number;
  /** What the server calls its screen. */
  name: string;
  /** Presses and releases the left button there. */
  click(x: number, y: number): void;
  /** Presses and releases the keys of `text`, one after the other. */
  type(text: string): void;
  press(key: keyof typeof KEYS): void;
  /** Presses and releases a letter while Control is down. */
  withControl(letter: string): void;
  /** Resolves with the code that the socket was closed with, whoever closed it. */
  readonly closed: Promise<number>;
  close(): Promise<void>;
}

/** Keysyms of X. */
const KEYS = { Tab: 0xff09, Enter: 0xff0d } as const;
const CONTROL = 0xffe3;
const NONE = 1;
const HANDSHAKE_MS = 60_000;

/** Opens the viewer's stream and takes it as far as pictures would come. */
export async function connectRfb(url: string): Promise<RfbClient> {
  const socket = new WebSocket(url, "binary");
  socket.binaryType = "arraybuffer";
  const late = AbortSignal.timeout(HANDSHAKE_MS);
  let received = Buffer.alloc(0);
  let arrived = Promise.withResolvers<void>();
  const fail = (why: string) => arrived.reject(new Error(`viewer ${why}`));
  const closed = new Promise<number>((resolve) => {
    socket.onclose = ({ code, reason }) => {
      fail(`closed with ${code} ${reason}`);
      resolve(code);
    };
  });
  late.addEventListener("abort", () => fail("did not greet in time"), { once: true });
  socket.onmessage = ({ data }) => {
    received = Buffer.concat([received, new Uint8Array(data as ArrayBuffer)]);
    arrived.resolve();
  };
  const take = async (bytes: number): Promise<Buffer> => {
    while (received.length < bytes) {
      await arrived.promise;
      arrived = Promise.withResolvers<void>();
      arrived.promise.catch(() => {});
    }
    const taken = received.subarray(0, bytes);
    received = received.subarray(bytes);
    return taken;
  };

  const version = (await take(12)).toString("latin1");
  if (!version.startsWith("RFB 003.")) throw new Error(`the viewer speaks ${version}`);
  socket.send(new TextEncoder().encode("RFB 003.008\n"));
  const types = await take((await take(1))[0] ?? 0);
  if (!types.includes(NONE)) throw new Error(`the viewer wants security ${[...types]}`);
  socket.send(Uint8Array.of(NONE));
  const result = (await take(4)).readUInt32BE(0);
  if (result !== 0) throw new Error(`the viewer refused with ${result}`);
  const shared = 1;
  socket.send(Uint8Array.of(shared));
  const init = await take(24);
  const name = (await take(init.readUInt32BE(20))).toString();
  // What comes from now on is for an eye.
  socket.onmessage = () => {};

  const key = (down: boolean, keysym: number) => {
    const message = Buffer.alloc(8);
    message[0] = 4;
    message[1] = down ? 1 : 0;
    message.writeUInt32BE(keysym, 4);
    socket.send(new Uint8Array(message));
  };
  const stroke = (keysym: number) => {
    key(true, keysym);
    key(false, keysym);
  };
  const pointer = (buttons: number, x: number, y: number) => {
    const message = Buffer.alloc(6);
    message[0] = 5;
    message[1] = buttons;
    message.writeUInt16BE(Math.round(x), 2);
    message.writeUInt16BE(Math.round(y), 4);
    socket.send(new Uint8Array(message));
  };
  return {
    width: init.readUInt16BE(0),
    height: init.readUInt16BE(2),
    name,
    click: (x, y) => {
      for (const buttons of [0, 1, 0]) pointer(buttons, x, y);
    },
    type: (text) => {
      for (const character of text) stroke(character.codePointAt(0) ?? 0);
    },
    press: (name) => stroke(KEYS[name]),
    withControl: (letter) => {
      key(true, CONTROL);
      stroke(letter.codePointAt(0) ?? 0);
      key(false, CONTROL);
    },
    closed,
    close: async () => {
      socket.close();
      await closed;
    },
  };
}
