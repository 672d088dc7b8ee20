import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { $, type Socket } from "bun";
import { createQueue } from "../models/queue.ts";

/** A viewer made of libvncclient (Debian's `libvncserver-dev`), compiled with `tcc`. */
export interface LibvncViewer {
  /** Resolves when it prints this: `size 1920 1080`, `pixel 255 247 214`. Rejects when it ends before. */
  next(line: string): Promise<void>;
  /** Looks at this point of the screen from now on. */
  watch(x: number, y: number): void;
  click(x: number, y: number): void;
  /** Presses and releases the keys of a text in ASCII. */
  type(text: string): void;
  close(): Promise<void>;
}

interface Bridged {
  hub: WebSocket;
  /** What the viewer said before the hub was connected. */
  early: Uint8Array[];
  /** The viewer takes bytes again, or is gone. */
  taking: PromiseWithResolvers<void>;
}

/** libvncclient speaks TCP, and the hub RFB in a WebSocket: what others use websockify for, the other way round. */
const bridgeTo = (url: string) =>
  Bun.listen<Bridged>({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      open: (socket) => {
        const taking = Promise.withResolvers<void>();
        socket.data = { hub: dial(url, socket), early: [], taking };
      },
      data: ({ data: { hub, early } }, bytes) => {
        if (hub.readyState === WebSocket.OPEN) hub.send(bytes);
        else early.push(Uint8Array.from(bytes));
      },
      drain: ({ data }) => data.taking.resolve(),
      close: ({ data }) => {
        data.taking.resolve();
        data.hub.close();
      },
    },
  });

function dial(url: string, socket: Socket<Bridged>): WebSocket {
  const hub = new WebSocket(url, "binary");
  hub.binaryType = "arraybuffer";
  /** Pictures go out one after the other. */
  let sent: Promise<void> = Promise.resolve();
  hub.onopen = () => {
    for (const bytes of socket.data.early.splice(0)) hub.send(bytes);
  };
  hub.onmessage = ({ data }) => {
    sent = sent.then(() => sendWhole(socket, new Uint8Array(data as ArrayBuffer)));
  };
  hub.onclose = () => socket.end();
  return hub;
}

async function sendWhole(socket: Socket<Bridged>, bytes: Uint8Array): Promise<void> {
  for (let sent = 0; sent < bytes.length && socket.readyState > 0; ) {
    socket.data.taking = Promise.withResolvers();
    sent += Math.max(0, socket.write(bytes.subarray(sent)));
    if (sent < bytes.length) await socket.data.taking.promise;
  }
}

/** `url`: the WebSocket of a session's screen. */
export async function openLibvncViewer(url: string): Promise<LibvncViewer> {
  const dir = mkdtempSync(join(tmpdir(), "flotilla-libvnc-"));
  const program = join(dir, "viewer");
  await $`tcc -o ${program} ${join(import.meta.dir, "libvnc-viewer.c")} -lvncclient`;
  const said = join(dir, "stderr");
  const bridge = bridgeTo(url);
  const child = Bun.spawn([program, String(bridge.port)], {
    stdin: "pipe",
    stdout: "pipe",
    stderr: Bun.file(said),
  });
  const ended = child.exited.then(async (code) => {
    throw new Error(`libvncclient ended with ${code}: ${await Bun.file(said).text()}`);
  });
  ended.catch(() => {});
  const lines = createQueue<string>();
  const reading = (async () => {
    let rest = "";
    for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
      const whole = (rest + text).split("\n");
      rest = whole.pop() ?? "";
      for (const line of whole) lines.push(line);
    }
  })();
  const tell = (line: string) => {
    child.stdin.write(`${line}\n`);
    void child.stdin.flush();
  };
  return {
    next: async (line) => {
      await Promise.race([lines.next((printed) => printed === line), ended]);
    },
    watch: (x, y) => tell(`watch ${x} ${y}`),
    click: (x, y) => tell(`click ${x} ${y}`),
    type: (text) => {
      for (const letter of text) tell(`key ${letter.charCodeAt(0)}`);
    },
    close: async () => {
      child.stdin.end();
      child.kill();
      await Promise.all([child.exited, reading]);
      bridge.stop(true);
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
