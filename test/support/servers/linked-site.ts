/** A site whose pages lead to each other in a known way: what a crawl of it has to find, and what it must not open. */
export interface LinkedSite {
  /** With a slash at its end. */
  url: string;
  /** Paths that a crawl from `url` opens, each once. */
  wanted: ReadonlySet<string>;
  /** How often each path was asked for. */
  asked: ReadonlyMap<string, number>;
  stop(): void;
}

/** Children of a page. */
const BRANCHES = 8;
/** One page of so many is named by the sitemap alone. */
const ORPHAN = 10;
const MENU = 6;

const html = (body: string) =>
  new Response(`<!doctype html><title>A page</title>${body}`, {
    headers: { "content-type": "text/html; charset=utf-8" },
  });
const linkTo = (path: string, more = "") => `<a href="${path}"${more}>${path}</a> `;

export function serveLinkedSite(pages: number): LinkedSite {
  const asked = new Map<string, number>();
  const orphans = Math.floor(pages / ORPHAN);
  const linked = pages - orphans;
  const numbers = [...Array(pages).keys()];

  /** Every page has the menu, in two ways of writing it, and a link to itself. */
  const page = (n: number): Response => {
    const children = [...Array(BRANCHES).keys()].map((k) => n * BRANCHES + k + 1);
    const menu = numbers.slice(0, Math.min(MENU, linked));
    return html(
      [
        ...children
          .filter((child) => n < linked && child < linked)
          .map((child) => linkTo(`/p/${child}`)),
        ...menu.map((one) => linkTo(`/p/${one}?utm_source=menu#top`)),
        linkTo("#here"),
        n === 0 ? outside : "",
      ].join(""),
    );
  };
  const outside = [
    linkTo("/moved"),
    linkTo("/missing"),
    linkTo("/private/page"),
    linkTo("/not-followed", ' rel="nofollow"'),
    linkTo("/says-no"),
    linkTo("mailto:somebody@example.com"),
    linkTo("javascript:void 0"),
  ].join("");
  const answer = (path: string): Response => {
    const [, n] = /^\/p\/(\d+)$/.exec(path) ?? [];
    if (n !== undefined && Number(n) < pages) return page(Number(n));
    switch (path) {
      case "/":
        return page(0);
      case "/robots.txt":
        return new Response(`User-agent: *\nDisallow: /private/\nSitemap: ${url}map.xml\n`);
      case "/map.xml":
        return new Response(
          `<urlset>${numbers
            .slice(linked)
            .map((one) => `<url><loc>${url}p/${one}</loc></url>`)
            .join("")}</urlset>`,
          { headers: { "content-type": "application/xml" } },
        );
      case "/moved":
        return Response.redirect("/moved-here", 301);
      case "/moved-here":
        return html("moved");
      case "/says-no":
        return html(`<meta name="robots" content="nofollow">${linkTo("/behind-no")}`);
      default:
        return new Response("not found", { status: 404 });
    }
  };
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request) => {
      const { pathname } = new URL(request.url);
      asked.set(pathname, (asked.get(pathname) ?? 0) + 1);
      return answer(pathname);
    },
  });
  const url = server.url.href;
  const wanted = new Set([
    "/",
    ...numbers.map((n) => `/p/${n}`),
    ...["/moved", "/missing", "/says-no"],
  ]);
  return { url, wanted, asked, stop: () => server.stop(true) };
}
