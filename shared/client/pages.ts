import { again, isBusy } from "./again.ts";
import type { OneShotAnswers, OneShotInputs } from "./client-types.ts";
import type { CallOptions, Http } from "./http.ts";

export interface PageOptions extends CallOptions {
  /** How long to keep waiting after 503 (no free lane); default 60,000. */
  patience_ms?: number;
}

const PATIENCE_MS = 60_000;
/** As the hub's own default. */
const WORK_S = 60;
/** For a lane and its browser. */
const OPEN_MS = 80_000;

/** Pages in one call each, in a browser of their own that nothing remembers (rules/one-shot-calls). */
export function pageCalls(http: Http) {
  const open = <K extends keyof OneShotInputs>(
    kind: K,
    json: OneShotInputs[K],
    accept: string,
    { patience_ms = PATIENCE_MS, ...call }: PageOptions = {},
  ): Promise<Response> => {
    const timeout_ms = (json.timeout_s ?? WORK_S) * 1_000 + OPEN_MS;
    const asked = { timeout_ms, ...call, json, headers: { accept } };
    return again({ patience_ms, signal: call.signal }, isBusy, () =>
      http.open(`POST /${kind}`, asked as never),
    );
  };
  const read = async <K extends "links" | "scrape" | "evaluate">(
    kind: K,
    input: OneShotInputs[K],
    call?: PageOptions,
  ): Promise<OneShotAnswers[K]> =>
    (await open(kind, input, "application/json", call)).json() as Promise<OneShotAnswers[K]>;
  return {
    /** The picture, streamed. */
    screenshot: (input: OneShotInputs["screenshot"], call?: PageOptions): Promise<Response> =>
      open("screenshot", input, "image/*", call),
    /** The document, streamed. */
    pdf: (input: OneShotInputs["pdf"], call?: PageOptions): Promise<Response> =>
      open("pdf", input, "application/pdf", call),
    /** The page's HTML, as its scripts have made it. */
    content: async (input: OneShotInputs["content"], call?: PageOptions): Promise<string> =>
      (await open("content", input, "text/html", call)).text(),
    markdown: async (input: OneShotInputs["markdown"], call?: PageOptions): Promise<string> =>
      (await open("markdown", input, "text/markdown", call)).text(),
    links: async (
      input: OneShotInputs["links"],
      call?: PageOptions,
    ): Promise<{ href: string; text: string }[]> => (await read("links", input, call)).links,
    scrape: (input: OneShotInputs["scrape"], call?: PageOptions) => read("scrape", input, call),
    /** What the code comes to; it runs in the page. */
    evaluate: async <R = unknown>(
      input: OneShotInputs["evaluate"],
      call?: PageOptions,
    ): Promise<R> => (await read("evaluate", input, call)).result as R,
  };
}

export type PageCalls = ReturnType<typeof pageCalls>;
