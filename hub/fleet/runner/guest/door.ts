/**
 * The script's side of the door: one connection to the hub, many calls at a time. Runs in the sandbox, so it imports nothing
 * of the hub; frames are those of `hub/fleet/runner/frames.ts`.
 */

/** What the hub answered a call with instead of a result. */
export interface Refusal {
  name: string;
  message: string;
  kind: string;
}

interface Waiting {
  resolve(value: unknown): void;
  reject(refusal: Refusal): void;
}

const PREFIX_BYTES = 8;
const LOST: Refusal = { name: "Error", message: "the hub has closed the door", kind: "closed" };

const waiting = new Map<number, Waiting>();
let last_id = 0;
let received: Uint8Array[] = [];
let received_bytes = 0;
let wanted = PREFIX_BYTES;
const unsent: Uint8Array[] = [];
const under_way = new Set<Promise<unknown>>();

function receive(chunk: Uint8Array): void {
  received.push(chunk.slice());
  received_bytes += chunk.length;
  while (received_bytes >= wanted) {
    const all =
      received.length === 1 ? Buffer.from(received[0] as Uint8Array) : Buffer.concat(received);
    received = [all];
    const body_at = PREFIX_BYTES + all.readUInt32BE(0);
    wanted = body_at + all.readUInt32BE(4);
    if (all.length < wanted) return;
    const { id, ok } = JSON.parse(all.subarray(PREFIX_BYTES, body_at).toString());
    const body = JSON.parse(all.subarray(body_at, wanted).toString());
    received = [all.subarray(wanted)];
    received_bytes -= wanted;
    wanted = PREFIX_BYTES;
    const call = waiting.get(id);
    waiting.delete(id);
    if (ok) call?.resolve(body);
    else call?.reject(body);
  }
}

function lose(): void {
  for (const call of waiting.values()) call.reject(LOST);
  waiting.clear();
}

const socket = await Bun.connect({
  unix: process.argv[2] ?? "",
  socket: {
    data: (_socket, chunk) => receive(chunk),
    drain: () => flush(),
    close: lose,
    error: lose,
  },
});
// An open door alone does not keep a script from ending.
socket.unref();

function flush(): void {
  for (let first = unsent[0]; first; first = unsent[0]) {
    const sent = socket.write(first);
    if (sent < 0) {
      lose();
      return;
    }
    if (sent < first.length) {
      unsent[0] = first.subarray(sent);
      return;
    }
    unsent.shift();
  }
}

/** One call through the door. @throws Refusal */
export function call(
  header: Record<string, unknown>,
  body: Uint8Array | string = "",
): Promise<unknown> {
  last_id += 1;
  const id = last_id;
  const head = Buffer.from(JSON.stringify({ ...header, id }));
  const bytes = typeof body === "string" ? Buffer.from(body) : body;
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUInt32BE(head.length, 0);
  prefix.writeUInt32BE(bytes.length, 4);
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  waiting.set(id, { resolve, reject });
  socket.ref();
  under_way.add(promise);
  const over = () => {
    under_way.delete(promise);
    if (under_way.size === 0) socket.unref();
  };
  promise.then(over, over);
  unsent.push(Buffer.concat([prefix, head, bytes]));
  flush();
  return promise;
}

/** Resolves once no call is under way, whether somebody awaits it or not. */
export async function idle(): Promise<void> {
  while (under_way.size > 0) await Promise.allSettled(under_way);
}

/** Imported as text by the hub. */
// biome-ignore lint/style/noDefaultExport: the type of a text import is its default export
export default "door" as string;
