import type { TaskContext } from "#hub/plugins/crawl/context.ts";
import { createPlugin } from "#hub/plugins/crawl/crawl.ts";
import type { Settings } from "#hub/plugins/crawl/settings.ts";

/** What a page's job has. */
export interface CrawledPage {
  http_status?: number;
  links?: string[];
  /** Where its redirects led. */
  final_url?: string;
  html?: string;
  /** The document's own bytes. */
  body?: string | Uint8Array<ArrayBuffer>;
  /** What its job has of the body, when that is not the whole. */
  ranges?: { start: number; end: number }[];
  /** Why its job failed. */
  error?: string;
  /** Bodies that its job could not keep. */
  lost?: number;
}

interface Kept extends TaskContext {
  readonly kept: Map<string, unknown>;
}

/** A task's attempt, with what the plugin keeps between them. */
export const attemptOf = (
  task_id: number,
  attempt: number,
  kept = new Map<string, unknown>(),
  epoch = attempt,
): Kept => ({
  kept,
  task_id,
  epoch,
  attempt,
  max_attempts: 3,
  signal: new AbortController().signal,
  state: {
    get: async (key, fallback) => kept.get(key) ?? fallback ?? null,
    set: async (key, value) => void kept.set(key, value),
    update: async (key, change, fallback) => {
      const next = change(kept.get(key) ?? fallback);
      kept.set(key, next);
      return next;
    },
  },
});

/**
 * A hub for the plugin `crawl` whose jobs have ended as `pages` says, by address; any other address is an empty page. The
 * same Idempotency-Key is the same job.
 */
export function startCrawledHub(pages: Record<string, CrawledPage> = {}) {
  const urls: string[] = [];
  const asked: string[] = [];
  let refused = "never";
  /** As they were when their jobs were submitted. */
  const opened: CrawledPage[] = [];
  const by_key = new Map<string, { job: number; body: string }>();
  const bodies: string[] = [];
  const submit = (body: string, key: string): Response => {
    const before = by_key.get(key);
    if (before?.body === body) return Response.json(jobOf(String(before.job)));
    if (before) {
      const detail = "this Idempotency-Key was used with another request";
      return Response.json({ detail }, { status: 409 });
    }
    const { url } = JSON.parse(body) as { url: string };
    opened.push(pages[url] ?? {});
    bodies.push(body);
    const job = urls.push(url) - 1;
    by_key.set(key, { job, body });
    return Response.json(jobOf(String(job)));
  };
  const jobOf = (job_id: string) => {
    const url = urls[Number(job_id)] ?? "";
    const {
      http_status = 200,
      error = null,
      lost = 0,
      final_url = url,
    } = opened[Number(job_id)] ?? {};
    const status = error === null ? "completed" : "failed";
    return {
      job_id,
      status,
      error,
      url,
      final_url,
      http_status,
      title: "",
      capture: { lost },
    };
  };
  const answerOf = (job_id: string, part: string): Response => {
    const { links = [], html, body, ranges = [] } = opened[Number(job_id)] ?? {};
    const partial = ranges.length > 0;
    if (!opened[Number(job_id)]) return Response.json({ detail: "not here" }, { status: 404 });
    if (part === "") return Response.json(jobOf(job_id));
    if (part === "/links.json")
      return Response.json({ links: links.map((url) => ({ url, rel: "", text: "" })) });
    if (part === "/page.html" && html !== undefined) return new Response(html);
    if (part === "/assets.json")
      return Response.json({
        items:
          body === undefined
            ? []
            : [{ name: "body", source_url: jobOf(job_id).url, partial, ranges }],
      });
    if (part === "/assets/body") return new Response(body);
    return Response.json({ detail: "not here" }, { status: 404 });
  };
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    websocket: {
      open: (socket) => void socket.send(JSON.stringify({ type: "done", seq: 1 })),
      message: () => {},
    },
    fetch: async (request, self) => {
      const { pathname } = new URL(request.url);
      asked.push(`${request.method} ${pathname}`);
      if (pathname.endsWith(refused)) return new Response("{}", { status: 503 });
      if (pathname.endsWith("/events") && self.upgrade(request)) return undefined;
      const [, job_id = "", part = ""] = /^\/jobs\/(\d+)(.*)$/.exec(pathname) ?? [];
      if (request.method !== "POST") return answerOf(job_id, part);
      return submit(await request.text(), request.headers.get("idempotency-key") ?? "");
    },
  });
  return {
    pages,
    /** The addresses of its jobs, in order, and the bodies of the calls that submitted them. */
    urls,
    bodies,
    asked,
    /** Paths that end so are 503 from now on. */
    refuse: (end: string) => {
      refused = end;
    },
    /** The plugin of one crawl, as a pull worker has it. */
    open: (settings: Partial<Settings>) => {
      process.env.FLOTILLA_WORKLOAD = "crawl";
      process.env.FLOTILLA_FLEET_URL = server.url.href;
      return createPlugin({ robots: false, sitemaps: false, delay_s: 0, ...settings });
    },
    stop: () => server.stop(true),
  };
}
