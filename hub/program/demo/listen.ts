import { serveDemo } from "./site.ts";

const MAX_PORT = 65_535;

/**
 * Serves the demo page from an origin of its own, because no lane may open the hub's: at `port` where it is free, so that
 * its address is the same at every start, else at any other.
 */
export function listenDemo(
  hostname: string,
  port: number,
): { port: number; stop(): Promise<void> } {
  const serve = (at: number) =>
    Bun.serve({
      hostname,
      port: at,
      fetch: (request) =>
        serveDemo(request) ?? new Response(null, { status: 302, headers: { location: "/demo/" } }),
    });
  const server = start();
  return { port: server.port ?? 0, stop: () => server.stop(true) };

  function start() {
    try {
      return serve(port <= MAX_PORT ? port : 0);
    } catch {
      return serve(0);
    }
  }
}
