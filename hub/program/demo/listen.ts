import { serveDemo } from "./site.ts";

const MAX_PORT = 65_535;

/**
 * Serves the demo page from its own origin, because no lane may open the hub's: at `port` if it is free, so that
 * its address stays the same, else at any other port.
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
