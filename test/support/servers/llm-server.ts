import { createServer, type Socket } from "node:net";
import { chunksOf, type LlmTurn } from "./llm-turns.ts";

export type { LlmTurn } from "./llm-turns.ts";

export interface LlmRequest {
  method: string;
  path: string;
  headers: Record<string, string>;
  // biome-ignore lint/suspicious/noExplicitAny: whatever the client sent
  body: any;
  /** Resolves when the connection is over, whoever ended it. */
  closed: Promise<void>;
}

/** What a backend may not know, by the name of the field in a request. */
type LlmRefuses = "json_schema" | "json_object" | "tools" | "stream_options" | "temperature";

export interface LlmServerOptions {
  /** Taken one after the other; a request beyond the last is answered 500. */
  script?: LlmTurn[];
  /** Instead of a script. */
  handler?: (request: LlmRequest, n: number) => LlmTurn | Promise<LlmTurn>;
  /** Answered with 400 without taking a turn. */
  refuses?: LlmRefuses[];
  /** Waited for before every piece of an answer but the first. */
  gate?: (request: LlmRequest, piece: number) => Promise<unknown>;
  host?: string;
  port?: number;
}

export interface LlmServer extends AsyncDisposable {
  /** `http://127.0.0.1:port/v1`, as an engine's endpoint. */
  url: string;
  /** The whole URL of the call, as `resolve` gives it. */
  completions: string;
  /** Every request so far, refused ones among them. */
  requests: LlmRequest[];
  /** The n-th request, counted from 1, as soon as it is there. */
  received(n: number): Promise<LlmRequest>;
  stop(): Promise<void>;
}

/**
 * An OpenAI-compatible engine that does what its script says, over real HTTP. Written on sockets, because connections are
 * to be cut in the middle and bytes to be sent in pieces of any size.
 */
export async function startLlmServer(options: LlmServerOptions): Promise<LlmServer> {
  const { host = "127.0.0.1", port = 0 } = options;
  const sockets = new Set<Socket>();
  const requests: LlmRequest[] = [];
  const waiting: { n: number; found(request: LlmRequest): void }[] = [];
  const left = (options.script ?? []).map((turn) => ({ turn, times: turn.times ?? 1 }));
  const nextTurn = (request: LlmRequest): LlmTurn | Promise<LlmTurn> => {
    if (options.handler) return options.handler(request, requests.length);
    const text = JSON.stringify(request.body);
    const at = left.findIndex(({ turn }) => turn.when === undefined || text.includes(turn.when));
    const entry = left[at];
    if (!entry) return { kind: "status", status: 500, body: { error: "the script is over" } };
    if (entry.times > 0 && --entry.times === 0) left.splice(at, 1);
    return entry.turn;
  };
  const server = createServer((socket) => {
    sockets.add(socket);
    const closed = new Promise<void>((done) => socket.once("close", () => done()));
    void closed.then(() => sockets.delete(socket));
    socket.on("error", () => {});
    readRequest(socket, (head) => {
      const request = { ...head, closed };
      requests.push(request);
      for (const { n, found } of waiting) if (n === requests.length) found(request);
      const refused = refusalOf(request.body, options.refuses ?? []);
      const turn = refused ?? nextTurn(request);
      void Promise.resolve(turn).then((taken) => play(socket, request, taken, options.gate));
    });
  });
  await new Promise<void>((done) => server.listen(port, host, done));
  const url = `http://${host}:${(server.address() as { port: number }).port}/v1`;
  const stop = async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise<void>((done) => server.close(() => done()));
  };
  return {
    url,
    completions: `${url}/chat/completions`,
    requests,
    stop,
    received: (n) =>
      new Promise((found) => {
        const there = requests[n - 1];
        if (there) found(there);
        else waiting.push({ n, found });
      }),
    [Symbol.asyncDispose]: stop,
  };
}

function readRequest(socket: Socket, got: (request: Omit<LlmRequest, "closed">) => void): void {
  let read = Buffer.alloc(0);
  let done = false;
  socket.on("data", (chunk) => {
    if (done) return;
    read = Buffer.concat([read, chunk as Buffer]);
    const end = read.indexOf("\r\n\r\n");
    if (end === -1) return;
    const [first = "", ...lines] = read.subarray(0, end).toString("latin1").split("\r\n");
    const headers = Object.fromEntries(
      lines.map((line) => {
        const at = line.indexOf(":");
        return [line.slice(0, at).toLowerCase(), line.slice(at + 1).trim()];
      }),
    );
    const body = read.subarray(end + 4);
    if (body.length < Number(headers["content-length"] ?? 0)) return;
    done = true;
    const [method = "", path = ""] = first.split(" ");
    got({ method, path, headers, body: body.length === 0 ? null : JSON.parse(body.toString()) });
  });
}

// biome-ignore lint/suspicious/noExplicitAny: whatever the client sent
function refusalOf(body: any, refuses: LlmRefuses[]): LlmTurn | null {
  const asks: Record<LlmRefuses, unknown> = {
    json_schema: body?.response_format?.type === "json_schema",
    json_object: body?.response_format?.type === "json_object",
    tools: body?.tools,
    stream_options: body?.stream_options,
    temperature: body?.temperature,
  };
  const what = refuses.find((name) => asks[name]);
  if (what === undefined) return null;
  const name = what.startsWith("json") ? `response_format ${what}` : what;
  const error = { message: `${name} is not supported`, type: "invalid_request_error" };
  return { kind: "status", status: 400, body: { error } };
}

const headOf = (status: number, headers: Record<string, string>): string =>
  [
    `HTTP/1.1 ${status} ${status === 200 ? "OK" : "Refused"}`,
    ...Object.entries({ connection: "close", ...headers }).map(([k, v]) => `${k}: ${v}`),
    "\r\n",
  ].join("\r\n");

const CHUNKED = { "transfer-encoding": "chunked" };
const chunked = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;

async function play(
  socket: Socket,
  request: LlmRequest,
  turn: LlmTurn,
  gate: LlmServerOptions["gate"],
): Promise<void> {
  if (turn.kind === "silent") return;
  if (turn.kind === "status") {
    const body = JSON.stringify(turn.body ?? { error: { message: `status ${turn.status}` } });
    const length = String(Buffer.byteLength(body));
    const headers = { "content-type": "application/json", "content-length": length };
    socket.end(headOf(turn.status, { ...headers, ...turn.headers }) + body);
    return;
  }
  if (turn.kind === "cut" && turn.after === 0) return void socket.destroy();
  const raw = turn.kind === "raw";
  const plain = raw ? false : turn.plain === true;
  const type = raw ? turn.content_type : plain ? "application/json" : undefined;
  const chunks = raw ? turn.chunks : chunksOf(turn, request.body ?? {});
  const write = (text: string) => new Promise<void>((sent) => socket.write(text, () => sent()));
  await write(headOf(200, { "content-type": type ?? "text/event-stream", ...CHUNKED }));
  for (const [piece, chunk] of chunks.entries()) {
    if (piece > 0) await gate?.(request, piece);
    if (piece > 0 && !raw && turn.interval_ms) await Bun.sleep(turn.interval_ms);
    if (turn.kind === "cut" && piece === turn.after) return void socket.destroy();
    if (socket.destroyed) return;
    await write(chunked(chunk));
  }
  socket.end("0\r\n\r\n");
}

/** `bun test/support/servers/llm-server.ts --port N --script FILE`: FILE is `{script: LlmTurn[], refuses?}`. */
if (import.meta.main) {
  const { values } = (await import("node:util")).parseArgs({
    options: {
      host: { type: "string", default: "127.0.0.1" },
      port: { type: "string", default: "0" },
      script: { type: "string" },
    },
  });
  const { script, refuses } = values.script
    ? await Bun.file(values.script).json()
    : { script: [{ kind: "answer", text: "ok", times: 0 }], refuses: [] };
  const options = { script, refuses, host: values.host, port: Number(values.port) };
  const { url } = await startLlmServer(options);
  console.log(`engine at ${url}`);
}
