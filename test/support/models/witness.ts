/** A server that notes what scripts of an attack tell it, by the names they give. */
export interface Witness {
  /** A script that tells `name`. */
  script(name: string): string;
  /** All names that were told, once each. */
  told(): string[];
  stop(): Promise<void>;
}

export function startWitness(): Witness {
  const told = new Set<string>();
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request) => {
      told.add(decodeURIComponent(new URL(request.url).search.slice(1)));
      return new Response("", { headers: { "access-control-allow-origin": "*" } });
    },
  });
  return {
    script: (name) => `fetch("http://127.0.0.1:${server.port}/?${encodeURIComponent(name)}")`,
    told: () => [...told].sort(),
    stop: () => server.stop(true),
  };
}
