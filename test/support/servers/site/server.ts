import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { brotliCompressSync } from "node:zlib";
import { sha256 } from "./bytes.ts";

export interface ExpectedBody {
  url: string;
  sha256: string;
  size: number;
}

export type Handler = (req: IncomingMessage, res: ServerResponse, url: URL) => void | Promise<void>;

export interface StaticBody {
  mime: string;
  bytes: Uint8Array;
  headers?: Record<string, string>;
  /** How the bytes go over the wire; the expected body stays decoded. */
  encoding?: "gzip" | "br" | "zstd";
  /** Answers `Range` with 206. */
  ranges?: boolean;
  /** In pieces of this many bytes without a length. */
  chunked?: number;
  /** Not part of what a visit must capture. */
  extra?: boolean;
}

/** One origin of a fixture site. Every request is written down in `hits`. */
export interface SiteServer {
  origin: string;
  port: number;
  hits: { path: string; headers: IncomingMessage["headers"] }[];
  /** How many connections were made to it so far. */
  connections(): number;
  /** Bodies a full visit receives. */
  expected: ExpectedBody[];
  body(path: string, body: StaticBody): void;
  on(path: string, handler: Handler): void;
  expect(path: string, bytes: Uint8Array): void;
  /** Resolves when the answer to this path has been sent whole since the last `forget`. */
  sent(path: string): Promise<void>;
  /** Resolves when this path, with its query, has been asked for since the last `forget`. */
  asked(path: string): Promise<void>;
  /** Who asks for `path` is sent a byte now and then until `over` resolves: nobody gives up a request that makes progress. */
  holdOpen(path: string, over: Promise<unknown>): void;
  /** Where a page reads until `path`, with its query, has been asked for: its network is not silent before. */
  openUntil(path: string): string;
  forget(): void;
  stop(): Promise<void>;
}

/**
 * @param host in the origin: an address of loopback, on which the server listens, or a name of `*.localhost`, which leads
 * to 127.0.0.1
 */
export async function startServer(host: string): Promise<SiteServer> {
  const handlers = new Map<string, Handler>();
  const sent = createMoments();
  const asked = createMoments();
  const hits: SiteServer["hits"] = [];
  const server = createServer((req, res) => {
    const url = new URL(req.url ?? "/", origin);
    hits.push({ path: req.url ?? "/", headers: req.headers });
    asked.of(req.url ?? "/").resolve();
    res.once("finish", () => sent.of(url.pathname).resolve());
    const handler = handlers.get(url.pathname);
    if (!handler) {
      res.writeHead(404, { "content-type": "text/plain" });
      res.end("not here");
      return;
    }
    void Promise.resolve(handler(req, res, url)).catch(() => res.destroy());
  });
  server.maxRequestsPerSocket = 0;
  let connections = 0;
  server.on("connection", () => {
    connections += 1;
  });
  const port = await listen(server, host.startsWith("127.") ? host : "127.0.0.1");
  const origin = `http://${host}:${port}`;
  const expected: ExpectedBody[] = [];
  const expectBody = (path: string, bytes: Uint8Array) =>
    void expected.push({ url: origin + path, sha256: sha256(bytes), size: bytes.length });
  const holdOpen: SiteServer["holdOpen"] = (path, over) =>
    void handlers.set(path, (_req, res) => drip(res, over));
  return {
    origin,
    port,
    hits,
    connections: () => connections,
    expected,
    expect: expectBody,
    on: (path, handler) => void handlers.set(path, handler),
    body: (path, body) => {
      handlers.set(path, (req, res) => serveStatic(req, res, body));
      if (!body.extra) expectBody(path, body.bytes);
    },
    forget: () => {
      sent.forget();
      asked.forget();
    },
    sent: (path) => sent.of(path).promise,
    asked: (path) => asked.of(path).promise,
    holdOpen,
    openUntil: (path) => {
      const held = `/open-until${path.replaceAll(/\W/g, "-")}`;
      handlers.set(held, (_req, res) => drip(res, asked.of(path).promise));
      return held;
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** What has happened to each path, or will. */
function createMoments() {
  const moments = new Map<string, PromiseWithResolvers<void>>();
  return {
    of: (path: string) => {
      const known = moments.get(path) ?? Promise.withResolvers<void>();
      moments.set(path, known);
      return known;
    },
    forget: () => moments.clear(),
  };
}

const DRIP_MS = 250;

async function drip(res: ServerResponse, over: Promise<unknown>): Promise<void> {
  res.writeHead(200, { "content-type": "text/plain", "cache-control": "no-store" });
  let is_over = false;
  const ended = over.then(() => {
    is_over = true;
  });
  while (!is_over && !res.destroyed) {
    res.write(".");
    await Promise.race([ended, Bun.sleep(DRIP_MS)]);
  }
  res.end();
}

function listen(server: Server, address: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, address, () => {
      const at = server.address();
      if (at && typeof at === "object") resolve(at.port);
    });
  });
}

async function serveStatic(
  req: IncomingMessage,
  res: ServerResponse,
  body: StaticBody,
): Promise<void> {
  const headers: Record<string, string> = { "content-type": body.mime, ...body.headers };
  const range = body.ranges ? /^bytes=(\d+)-(\d*)$/.exec(req.headers.range ?? "") : null;
  if (body.ranges) headers["accept-ranges"] = "bytes";
  if (range) {
    const start = Number(range[1]);
    const end = Math.min(range[2] ? Number(range[2]) : Infinity, body.bytes.length - 1);
    headers["content-range"] = `bytes ${start}-${end}/${body.bytes.length}`;
    headers["content-length"] = String(end - start + 1);
    res.writeHead(206, headers);
    return write(res, body.bytes.subarray(start, end + 1), 1 << 18);
  }
  const bytes = encode(body);
  if (body.encoding) headers["content-encoding"] = body.encoding;
  if (!body.chunked) headers["content-length"] = String(bytes.length);
  res.writeHead(200, headers);
  if (req.method === "HEAD") return void res.end();
  await write(res, bytes, body.chunked ?? 1 << 18);
}

/** Writes at the reader's pace and stops when it is gone. */
async function write(res: ServerResponse, bytes: Uint8Array, piece: number): Promise<void> {
  for (let at = 0; at < bytes.length && !res.destroyed; at += piece)
    if (!res.write(bytes.subarray(at, at + piece))) await drained(res);
  res.end();
}

export function drained(res: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      res.off("drain", done);
      res.off("close", done);
      resolve();
    };
    res.on("drain", done);
    res.on("close", done);
  });
}

function encode({ bytes, encoding }: StaticBody): Uint8Array {
  if (encoding === "gzip") return Bun.gzipSync(Uint8Array.from(bytes));
  if (encoding === "zstd") return Bun.zstdCompressSync(bytes);
  if (encoding === "br") return brotliCompressSync(bytes);
  return bytes;
}
