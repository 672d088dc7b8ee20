import type { Har, HarEntry } from "#shared/protocol/schema/har.ts";

export const PHASES = ["blocked", "dns", "connect", "ssl", "send", "wait", "receive"] as const;
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

export interface Row {
  key: string;
  entry: HarEntry;
  /** Milliseconds since the first request. */
  from_ms: number;
  spans: Span[];
}

/** Entries in the order they began; the phases of each one behind the other. */
export function rowsOf({ log }: Har): Row[] {
  const starts = log.entries.map(({ startedDateTime }) => Date.parse(startedDateTime));
  const first = starts.reduce((least, at) => Math.min(least, at), Number.POSITIVE_INFINITY);
  return log.entries
    .map((entry, i) => {
      const from_ms = (starts[i] ?? first) - first;
      return { key: String(i), entry, from_ms, spans: spansOf(entry, from_ms) };
    })
    .sort((a, b) => a.from_ms - b.from_ms);
}

function spansOf({ timings }: HarEntry, from_ms: number): Span[] {
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

export const endOf = (rows: readonly Row[]): number =>
  rows.reduce((most, { from_ms, entry }) => Math.max(most, from_ms + Math.max(0, entry.time)), 1);

/** What a person looks for: document, script, stylesheet, image, fetch … */
export const typeOf = ({ _resourceType, response }: HarEntry): string =>
  _resourceType ?? response.content.mimeType.split(";")[0] ?? "";

export function nameOf(raw: string): string {
  if (!URL.canParse(raw)) return raw;
  const { pathname, host, search } = new URL(raw);
  const last = pathname.split("/").filter(Boolean).at(-1);
  return last === undefined ? host : `${last}${search}`;
}
