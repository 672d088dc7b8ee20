import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { $ } from "bun";
import { linesOf } from "#hub/pipeline/import/text.ts";
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

/** libvncclient speaks TCP, and the hub RFB in a WebSocket: what others use websockify for, the other way round. */
const bridgeTo = (url: string) =>
  createServer((near) => {
    const hub = new WebSocket(url, "binary");
    hub.binaryType = "arraybuffer";
    near.pause();
    hub.onopen = () => near.resume();
    hub.onmessage = ({ data }) => near.write(new Uint8Array(data as ArrayBuffer));
    hub.onclose = () => near.destroy();
    near.on("data", (bytes) => hub.send(bytes));
    near.on("error", () => {});
    near.on("close", () => hub.close());
  });

/** `url`: the WebSocket of a session's screen. */
export async function openLibvncViewer(url: string): Promise<LibvncViewer> {
  const dir = mkdtempSync(join(tmpdir(), "flotilla-libvnc-"));
  const program = join(dir, "viewer");
  await $`tcc -o ${program} ${join(import.meta.dir, "libvnc-viewer.c")} -lvncclient`;
  const said = join(dir, "stderr");
  const bridge = bridgeTo(url).listen(0, "127.0.0.1");
  await once(bridge, "listening");
  const { port } = bridge.address() as AddressInfo;
  const child = Bun.spawn([program, String(port)], {
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
    const text = child.stdout.pipeThrough(new TextDecoderStream());
    for await (const line of linesOf(text)) lines.push(line);
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
      bridge.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
