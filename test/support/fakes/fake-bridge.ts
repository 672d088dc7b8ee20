/** The bridge of a fake worker's lanes: what `GET blobs`, `PUT uploads` and `GET files` of a session reach. */
export interface FakeBridge {
  /** For the capabilities of the fake worker. */
  lane_novnc_urls: string[];
  blobs: Map<string, string>;
  files: Map<string, { body: string; mime: string }>;
  /** Whole uploads by id; one that was cut off is not among them. */
  uploads: Map<string, { size: number; sha256: string }>;
  /** What the answer to a whole upload waits for. */
  confirms: (upload: { size: number }) => Promise<void>;
  /** What answers at a session's `webdriver`, by method and what follows that; absent: nobody. */
  webdriver: Map<string, (body: string) => Response | Promise<Response>>;
  /** Requests with their bearer, oldest first. */
  requests: { method: string; path: string; bearer: string | null }[];
  stop(): Promise<void>;
}

export function startFakeBridge(lanes = 1): FakeBridge {
  const blobs: FakeBridge["blobs"] = new Map();
  const files: FakeBridge["files"] = new Map();
  const uploads: FakeBridge["uploads"] = new Map();
  const webdriver: FakeBridge["webdriver"] = new Map();
  const requests: FakeBridge["requests"] = [];

  const take = async (id: string, request: Request): Promise<Response> => {
    const hash = new Bun.CryptoHasher("sha256");
    let size = 0;
    for await (const chunk of request.body ?? []) {
      hash.update(chunk);
      size += chunk.length;
    }
    uploads.set(id, { size, sha256: hash.digest("hex") });
    await bridge.confirms({ size });
    return new Response(null, { status: 204 });
  };
  const none = () => Response.json({ detail: "not found" }, { status: 404 });
  const answer = async (request: Request): Promise<Response> => {
    const { pathname } = new URL(request.url);
    const [, , , kind = "", encoded = ""] = pathname.split("/");
    const below = /\/webdriver(.*)$/.exec(pathname)?.[1];
    const driver = webdriver.get(`${request.method} ${below}`);
    if (driver) return driver(await request.text());
    const id = decodeURIComponent(encoded);
    if (kind === "blobs") return new Response(blobs.get(id) ?? none().body);
    if (kind === "uploads" && request.method === "PUT") return take(id, request);
    if (kind === "uploads")
      return uploads.delete(id) ? new Response(null, { status: 204 }) : none();
    const file = files.get(id);
    if (kind !== "files" || !file) return none();
    return new Response(file.body, { headers: { "content-type": file.mime } });
  };
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    maxRequestBodySize: 1024 ** 3,
    fetch: async (request) => {
      const { pathname } = new URL(request.url);
      requests.push({
        method: request.method,
        path: pathname,
        bearer: request.headers.get("authorization"),
      });
      try {
        return await answer(request);
      } catch {
        return new Response(null, { status: 400 }); // the upload was cut off
      }
    },
  });
  const bridge: FakeBridge = {
    confirms: async () => {},
    lane_novnc_urls: Array.from({ length: lanes }, () => `http://127.0.0.1:${server.port}/`),
    blobs,
    files,
    uploads,
    webdriver,
    requests,
    stop: () => server.stop(true),
  };
  return bridge;
}
