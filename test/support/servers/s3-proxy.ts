/** Stands between a store and its server; what is asked decides what becomes of a call, each kind of trouble once. */
export interface S3Proxy {
  endpoint: string;
  /** Answers that were lost. */
  lost(): number;
  stop(): Promise<void>;
}

export function startS3Proxy(
  target: string,
  fate: (call: { method: string; url: string }) => "pass" | "lose the answer",
): S3Proxy {
  let lost = 0;
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    maxRequestBodySize: 2 ** 32,
    fetch: async (request) => {
      const { pathname, search } = new URL(request.url);
      // The signature covers the host that was asked, so its header goes on as it is.
      const answer = await fetch(target + pathname + search, {
        method: request.method,
        headers: request.headers,
        body: request.body && (await request.bytes()),
        redirect: "manual",
      });
      const content = await answer.arrayBuffer();
      if (lost === 0 && fate(request) === "lose the answer") {
        lost += 1;
        return new Response("gateway lost the answer", { status: 502 });
      }
      const headers = new Headers(answer.headers);
      return new Response(answer.status === 204 ? null : content, {
        status: answer.status,
        headers,
      });
    },
  });
  return {
    endpoint: `http://127.0.0.1:${server.port}`,
    lost: () => lost,
    stop: () => server.stop(true),
  };
}
