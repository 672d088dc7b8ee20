import type { HarEntry } from "#shared/protocol/schema/har.ts";

const PHASES = ["blocked", "dns", "connect", "ssl", "send", "wait", "receive"] as const;
export const PHASE_TITLES: Record<(typeof PHASES)[number], string> = {
  blocked: "Queued in the browser",
  dns: "DNS",
  connect: "Connecting",
  ssl: "TLS",
  send: "Sending",
  wait: "Waiting for the answer",
  receive: "Receiving",
};

interface Span {
  name: (typeof PHASES)[number];
  from_ms: number;
  ms: number;
}

export function spansOf({ timings }: HarEntry, from_ms: number): Span[] {
  let at = from_ms;
  const spans: Span[] = [];
  for (const name of PHASES) {
    // HAR 1.2: the time of TLS lies within that of `connect`.
    const ms = timings[name] - (name === "connect" ? Math.max(0, timings.ssl) : 0);
    if (!(ms > 0)) continue;
    spans.push({ name, from_ms: at, ms });
    at += ms;
  }
  return spans;
}

/** What a person looks for: document, script, stylesheet, image, fetch … */
export const typeOf = ({ _resourceType, response }: HarEntry): string =>
  _resourceType ?? response.content.mimeType.split(";")[0] ?? "";
