/** A proxy that lets calls through and nothing that lasts: no stream of changes, no WebSocket. */
export interface PlainProxy {
  /** Without a slash at its end, under a name that Chromium takes for another machine: what is plain HTTP there is no secure context. */
  readonly url: string;
  /** Paths of the streams it turned away. */
  readonly turned_away: string[];
  stop(): Promise<void>;
}

/** Chromium's flag for the names under which tests reach this machine as if it were another. */
export const OTHER_MACHINE_FLAG = "--host-resolver-rules=MAP hub.test 127.0.0.1";

export function startPlainProxy(target: string): PlainProxy {
  const turned_away: string[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    fetch: async (request) => {
      const { pathname, search } = new URL(request.url);
      if (pathname === "/ui/changes" || request.headers.has("upgrade")) {
        turned_away.push(pathname);
        return new Response("no streams", { status: 501 });
      }
      // The Host stays, as behind any router: pages are compared with it.
      const headers = new Headers(request.headers);
      const answer = await fetch(target + pathname + search, {
        method: request.method,
        headers,
        body: request.body,
        redirect: "manual",
        signal: request.signal,
      });
      const kept = new Headers(answer.headers);
      // It comes unpacked.
      for (const name of ["content-encoding", "content-length"]) kept.delete(name);
      return new Response(answer.body, { status: answer.status, headers: kept });
    },
  });
  return {
    url: `http://hub.test:${server.port}`,
    turned_away,
    stop: () => server.stop(true),
  };
}
