import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { parseBatch } from "#shared/protocol/asset-batch.ts";
import {
  type HubToWorker,
  type Registration,
  WorkerToHub,
} from "#shared/protocol/link/messages.ts";
import { AssetMeta } from "#shared/protocol/schema/asset.ts";
import { createQueue, type Queue } from "../models/queue.ts";

type Frame<T extends WorkerToHub["type"]> = Extract<WorkerToHub, { type: T }>;

/** The hub's end of one link. Frames are validated as they come in; one that does not validate fails the test. */
export interface FakePeer {
  worker_id: string;
  send(message: HubToWorker | { type: string }): void;
  sendRaw(frame: string | Uint8Array): void;
  close(code: number, reason: string): void;
  /** Drops the TCP connection without a close frame. */
  terminate(): void;
  /** The next frame of this type; earlier frames of other types stay in `frames`. */
  next<T extends WorkerToHub["type"]>(type: T): Promise<Frame<T>>;
  /** The next frame of one of these types that matches. */
  nextWhere<T extends WorkerToHub["type"]>(
    types: readonly T[],
    match: (frame: Frame<T>) => boolean,
  ): Promise<Frame<T>>;
  /** Everything received so far, in order. */
  frames: WorkerToHub[];
  /** Forgets every frame so far. */
  forget(): void;
  /** Waits for the registration and answers it. */
  register(): Promise<Registration>;
  /** Resolves with the close code and reason. */
  closed: Promise<{ code: number; reason: string }>;
}

interface FakeUpload {
  path: string;
  /** Counts from 1 for each path. */
  attempt: number;
  lease_token: string | undefined;
  authorization: string | undefined;
  content_length: string | undefined;
  sha256: string | undefined;
  meta: AssetMeta | null;
}

/** `drop`: cut the connection after the first bytes; `hold`: never answer; a number: answer this status. */
type Fault = "drop" | "hold" | "corrupt" | number | null;

export interface FakeHub {
  /** For HUB_URL. */
  url: string;
  /** HTTP base of the upload server. */
  upload_url: string;
  nextPeer(): Promise<FakePeer>;
  /** Decides about every upload before its body is read. */
  fault: (upload: FakeUpload) => Fault;
  uploads: FakeUpload[];
  /** Decides about each body of a batch that is received: a status refuses it in its place of the answer. */
  entry_fault: (name: string) => number | null;
  /** The names of each batch that was received whole; the request itself is in `uploads` too. */
  batches: string[][];
  /** What was stored, by path. */
  stored: Map<string, { size: number; sha256: string; meta: AssetMeta | null }>;
  /** Uploads that were being received at once, at most. */
  most_at_once(): number;
  /** Resolves when `count` uploads have been begun. */
  uploadsBegun(count: number): Promise<void>;
  registered: Extract<HubToWorker, { type: "HubRegistered" }>;
  /** Whether every result is acknowledged at once; on by default. */
  acknowledge: boolean;
  stop(): Promise<void>;
}

interface LinkData {
  worker_id: string;
  frames: Queue<WorkerToHub>;
  closed: PromiseWithResolvers<{ code: number; reason: string }>;
}

export const FAKE_VERSION = "abcdef012345";

/** A hub that only speaks the worker link and takes uploads, with faults on request. */
export async function startFakeHub(): Promise<FakeHub> {
  const peers = createQueue<FakePeer>();
  const uploads = await startUploads();
  const server = Bun.serve<LinkData>({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request, self) => {
      const worker_id = /^\/workers\/([^/]+)\/link$/.exec(new URL(request.url).pathname)?.[1];
      if (!worker_id) return new Response("not found", { status: 404 });
      const data = {
        worker_id,
        frames: createQueue<WorkerToHub>(),
        closed: Promise.withResolvers<{ code: number; reason: string }>(),
      };
      return self.upgrade(request, { data }) ? undefined : new Response("no", { status: 400 });
    },
    websocket: {
      open: (ws) => peers.push(peerOf(ws, () => hub.registered)),
      message: (ws, raw) => {
        const frame = WorkerToHub.parse(JSON.parse(String(raw)));
        ws.data.frames.push(frame);
        if (frame.type !== "result" || !hub.acknowledge) return;
        const { job_id, lease_token } = frame;
        ws.send(JSON.stringify({ type: "HubResultAck", job_id, lease_token, accepted: true }));
      },
      close: (ws, code, reason) => ws.data.closed.resolve({ code, reason }),
    },
  });
  const hub: FakeHub = {
    url: `ws://127.0.0.1:${server.port}`,
    upload_url: uploads.url,
    nextPeer: () => peers.next(),
    fault: () => null,
    uploads: uploads.seen,
    entry_fault: () => null,
    batches: uploads.batches,
    stored: uploads.stored,
    most_at_once: uploads.most_at_once,
    uploadsBegun: uploads.begun,
    registered: {
      type: "HubRegistered",
      expected_worker_version: FAKE_VERSION,
      upload_token: "upload-token-1",
      public_base_url: uploads.url,
      heartbeat_interval_ms: 15_000,
    },
    acknowledge: true,
    stop: async () => {
      await server.stop(true);
      await uploads.stop();
    },
  };
  uploads.decide(
    (upload) => hub.fault(upload),
    (name) => hub.entry_fault(name),
  );
  return hub;
}

function peerOf(ws: Bun.ServerWebSocket<LinkData>, answer: () => HubToWorker): FakePeer {
  const { worker_id, frames, closed } = ws.data;
  const peer: FakePeer = {
    worker_id,
    send: (message) => void ws.send(JSON.stringify(message)),
    sendRaw: (frame) => void ws.send(frame),
    close: (code, reason) => ws.close(code, reason),
    terminate: () => ws.terminate(),
    next: async <T extends WorkerToHub["type"]>(type: T) =>
      // The queue's predicate has looked at the type.
      (await frames.next((f) => f.type === type)) as Frame<T>,
    nextWhere: async <T extends WorkerToHub["type"]>(
      types: readonly T[],
      match: (frame: Frame<T>) => boolean,
    ) =>
      (await frames.next(
        (f) => (types as readonly string[]).includes(f.type) && match(f as Frame<T>),
      )) as Frame<T>,
    frames: frames.all,
    forget: frames.clear,
    register: async () => {
      const registration = await peer.next("registration");
      peer.send(answer());
      return registration;
    },
    closed: closed.promise,
  };
  return peer;
}

async function startUploads() {
  const seen: FakeUpload[] = [];
  const stored: FakeHub["stored"] = new Map();
  const waiting: { count: number; resolve(): void }[] = [];
  const batches: string[][] = [];
  let decide: FakeHub["fault"] = () => null;
  let decideEntry: FakeHub["entry_fault"] = () => null;
  let now = 0;
  let most = 0;

  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const upload = describe(request, seen);
    seen.push(upload);
    for (const w of waiting) if (seen.length >= w.count) w.resolve();
    const fault = decide(upload);
    if (fault === "hold") return;
    if (typeof fault === "number") return answer(response, fault, { detail: `fault ${fault}` });
    const hash = createHash("sha256");
    const chunks: Buffer[] = [];
    const is_batch = upload.path.endsWith("/assets");
    let size = 0;
    for await (const chunk of request) {
      if (fault === "drop") return void request.socket.destroy();
      if (is_batch) chunks.push(chunk);
      hash.update(chunk);
      size += chunk.length;
    }
    if (is_batch) return answer(response, 200, { items: storeBatch(upload.path, chunks) });
    const sha256 = hash.digest("hex");
    if (fault === "corrupt" || sha256 !== upload.sha256)
      return answer(response, 422, { detail: "checksum mismatch" });
    stored.set(upload.path, { size, sha256, meta: upload.meta });
    answer(response, 200, { name: upload.path.split("/").at(-1), size, sha256 });
  };
  const storeBatch = (path: string, chunks: Buffer[]) => {
    const entries = parseBatch(Buffer.concat(chunks));
    batches.push(entries.map(({ meta }) => meta.name));
    return entries.map(({ meta, size, body, sha256 }) => {
      const { name } = meta;
      const sum = createHash("sha256").update(body).digest("hex");
      const status = sum === sha256 ? decideEntry(name) : 422;
      if (status !== null) return { name, error: { status, detail: `fault ${status}` } };
      stored.set(`${path}/${name}`, { size, sha256, meta });
      return { name, size, sha256 };
    });
  };
  const server = createServer((request, response) => {
    if (request.url === "/health")
      return answer(response, 200, { status: "ok", version: FAKE_VERSION });
    now += 1;
    most = Math.max(most, now);
    // A dropped client shows as an error of the request body.
    void receive(request, response)
      .catch(() => {})
      .finally(() => {
        now -= 1;
      });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    seen,
    stored,
    most_at_once: () => most,
    begun: (count: number) =>
      new Promise<void>((resolve) => {
        if (seen.length >= count) resolve();
        else waiting.push({ count, resolve });
      }),
    batches,
    decide: (fault: FakeHub["fault"], entry_fault: FakeHub["entry_fault"]) => {
      decide = fault;
      decideEntry = entry_fault;
    },
    stop: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}

function describe(request: IncomingMessage, seen: FakeUpload[]): FakeUpload {
  const header = (name: string) => request.headers[name]?.toString();
  const path = decodeURIComponent(request.url ?? "");
  const meta = header("x-asset-meta");
  return {
    path,
    attempt: seen.filter((u) => u.path === path).length + 1,
    lease_token: header("x-lease-token"),
    authorization: header("authorization"),
    content_length: header("content-length"),
    sha256: header("x-sha256"),
    meta:
      meta === undefined
        ? null
        : AssetMeta.parse(JSON.parse(Buffer.from(meta, "base64url").toString())),
  };
}
