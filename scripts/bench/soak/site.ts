/** Pages of a soak, on loopback: small, pictures, a body of 5 MB, a frame, data, one that fails. */

const BODY_BYTES = 5 * 1024 * 1024;
const PICTURES = 20;

const page = (title: string, body: string) =>
  new Response(`<!doctype html><title>${title}</title><link rel=icon href=data:,>${body}`, {
    headers: { "content-type": "text/html" },
  });

/** A picture that Chromium decodes, different for each address. */
const picture = (path: string) =>
  new Response(
    `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><!--${path.repeat(2_000)}--></svg>`,
    { headers: { "content-type": "image/svg+xml" } },
  );

const FETCHES = `<script>for (let i = 0; i < 5; i++) fetch("/d" + i + ".json").then((r) => r.json());</script>`;

export function serveSoakSite() {
  const body = crypto.getRandomValues(new Uint8Array(65_536));
  const large = Buffer.concat(Array.from({ length: BODY_BYTES / body.length }, () => body));
  return Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: ({ url }) => {
      const { pathname } = new URL(url);
      if (pathname.endsWith(".svg")) return picture(pathname);
      if (pathname.endsWith(".bin"))
        return new Response(large, { headers: { "content-type": "application/octet-stream" } });
      if (pathname.endsWith(".json")) return Response.json({ data: "x".repeat(20_000) });
      switch (pathname) {
        case "/small":
          return page("small", "<h1>Small</h1><a href=/pictures>next</a>");
        case "/pictures":
          return page(
            "pictures",
            Array.from({ length: PICTURES }, (_, i) => `<img src=/${i}.svg>`).join(""),
          );
        case "/large":
          return page(
            "large",
            `<script>fetch("/large.bin").then((r) => r.arrayBuffer());</script>`,
          );
        case "/frame":
          return page("frame", "<iframe src=/small></iframe><iframe src=/data></iframe>");
        case "/data":
          return page("data", FETCHES);
        default:
          return new Response("not here", { status: 404 });
      }
    },
  });
}
