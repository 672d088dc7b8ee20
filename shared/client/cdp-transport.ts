import { canOpenSockets, type Http } from "./http.ts";

/** A transport for Playwright's `connectOverCDP`; CDP messages are objects. */
export interface CdpTransport {
  send(message: object): void;
  close(): void;
  onmessage?: (message: object) => void;
  onclose?: (reason?: string) => void;
}

interface Message {
  method?: string;
  params?: Record<string, unknown>;
}

/** A short outage of a hub or worker must not cost a file: it is requested this often, with growing waits. */
const TRIES = 4;
const FIRST_WAIT_MS = 250;

/** A guid is what the browser calls a download, and what Playwright calls its file. */
const GUID = /^[0-9a-f-]{36}$/i;

/**
 * A session's browser for a client that looks for downloads on its own disk, as Playwright does over CDP (`saveAs`, `path`,
 * `createReadStream`). The browser is on another machine, so each file is fetched to the place that the client has named,
 * before the client hears that it is complete. A file that cannot be fetched is reported as canceled.
 */
export function cdpTransport(http: Http, sid: string): CdpTransport {
  if (!canOpenSockets())
    throw new TypeError(
      "cdpTransport needs a WebSocket that sends headers: Bun, or Node 22 or later",
    );
  const url = http.socketUrl("GET /sessions/{sid}/cdp", { params: { sid } });
  const socket = new WebSocket(url, http.socket as unknown as string[]);
  const over = new AbortController();
  /** Messages sent before the socket was open. */
  let waiting: string[] = [];
  let directory: string | null = null;

  const fetchFile = (guid: string, into: string): Promise<string> =>
    saveTo(into, guid, over.signal, () =>
      http.open("GET /sessions/{sid}/files/{name}", {
        params: { sid, name: guid },
        signal: over.signal,
      }),
    );
  const fetchPatiently = async (guid: string, into: string): Promise<string> => {
    for (let tried = 1; ; tried += 1)
      try {
        return await fetchFile(guid, into);
      } catch (err) {
        if (tried === TRIES || over.signal.aborted) throw err;
        await new Promise((resolve) => setTimeout(resolve, FIRST_WAIT_MS * tried));
      }
  };
  const deliver = (message: object): void => transport.onmessage?.(message);
  const receive = (message: Message): void => {
    const { method, params } = message;
    const guid = String(params?.guid);
    const whole = method === "Browser.downloadProgress" && params?.state === "completed";
    if (whole && directory !== null && GUID.test(guid))
      fetchPatiently(guid, directory).then(
        (filePath) => deliver({ ...message, params: { ...params, filePath } }),
        () => deliver({ ...message, params: { ...params, state: "canceled" } }),
      );
    else deliver(message);
  };
  socket.onopen = () => {
    for (const text of waiting) socket.send(text);
    waiting = [];
  };
  socket.onmessage = ({ data }) => receive(JSON.parse(String(data)) as Message);
  socket.onerror = () => {};
  socket.onclose = ({ code, reason }) => {
    over.abort();
    transport.onclose?.(reason || `closed with ${code}`);
  };
  const transport: CdpTransport = {
    send: (message: Message) => {
      const to = message.params?.downloadPath;
      if (message.method === "Browser.setDownloadBehavior" && typeof to === "string")
        directory = to;
      const text = JSON.stringify(message);
      if (socket.readyState === WebSocket.CONNECTING) waiting.push(text);
      else socket.send(text);
    },
    close: () => socket.close(),
  };
  return transport;
}

/** The path of the new file on this machine. The modules are loaded only here, because browsers do not have them. */
async function saveTo(
  directory: string,
  name: string,
  signal: AbortSignal,
  open: () => Promise<Response>,
): Promise<string> {
  const [{ createWriteStream }, { mkdir, rm }, { join }, { Readable }, { pipeline }] =
    await Promise.all([
      import("node:fs"),
      import("node:fs/promises"),
      import("node:path"),
      import("node:stream"),
      import("node:stream/promises"),
    ]);
  await mkdir(directory, { recursive: true });
  const path = join(directory, name);
  try {
    const { body } = await open();
    if (body === null) throw new Error("an answer without a body");
    await pipeline(Readable.fromWeb(body as never), createWriteStream(path), { signal });
    return path;
  } catch (err) {
    await rm(path, { force: true });
    throw err;
  }
}
