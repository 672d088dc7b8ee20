/** What the jobs and sessions of a fleet under load look at. */
export interface LoadedSite {
  origin: string;
  /** How often each path was asked for. */
  asked: Map<string, number>;
  /** Pages that are open and wait for their picture. */
  waiting: Set<string>;
  /** Lets one page that waits come to its end. */
  letOne(): void;
  /** Whether pages wait at all. */
  hold(held: boolean): void;
  stop(): Promise<void>;
}

/** `/job/…`: a page that is not loaded before the test says so. */
export function startSite(): LoadedSite {
  const asked = new Map<string, number>();
  const waiting = new Map<string, () => void>();
  let held = false;
  const html = (text: string) =>
    new Response(`<!doctype html>${text}`, { headers: { "content-type": "text/html" } });
  const picture = () =>
    new Response('<svg xmlns="http://www.w3.org/2000/svg"/>', {
      headers: { "content-type": "image/svg+xml" },
    });
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    fetch: async ({ url: asks }) => {
      const { pathname } = new URL(asks);
      asked.set(pathname, (asked.get(pathname) ?? 0) + 1);
      const [, kind, name = ""] = pathname.split("/");
      if (kind === "job") return html(`<title>${name}</title><img src="/picture/${name}">`);
      if (kind === "picture") {
        if (held) await new Promise<void>((resolve) => waiting.set(name, resolve));
        return picture();
      }
      return html("<title>Session</title><script>mark = null</script>");
    },
  });
  const letOne = () => {
    const [first] = waiting;
    if (first === undefined) return;
    waiting.delete(first[0]);
    first[1]();
  };
  return {
    origin: server.url.origin,
    asked,
    get waiting() {
      return new Set(waiting.keys());
    },
    letOne,
    hold: (hold) => {
      held = hold;
      while (!held && waiting.size > 0) letOne();
    },
    stop: () => server.stop(true),
  };
}
