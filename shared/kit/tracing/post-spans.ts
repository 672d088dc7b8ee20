import { callWithin } from "../call-within.ts";
import type { Clock } from "../clock.ts";
import { errorMessage } from "../errors.ts";
import { readUpTo } from "../read-up-to.ts";
import { retryAfterMs } from "../retry-after.ts";
import { type FinishedSpan, otlpBody, type Resource } from "./otlp.ts";

const CALL_MS = 10_000;
/** A collector that would take it later, as OTLP names them; all else is not sent again. */
const LATER = [429, 502, 503, 504];
/** An answer names rejected spans in a few words; what follows is not read. */
const MOST_ANSWER_BYTES = 64 * 1024;
const MOST_WORDS = 200;
/** A collector that asks for more is asked again after this. */
const MOST_WAIT_MS = 300_000;

export interface Collector {
  /** Where spans are posted. */
  url: string;
  headers: Readonly<Record<string, string>>;
  resource: Resource;
  clock: Clock;
}

/** Why not all of the spans were taken. */
interface NotTaken {
  /** How many were not. */
  lost: number;
  reason: string;
  /** The collector may take them another time. */
  later: boolean;
  /** In how many milliseconds it asks to be asked again. */
  wait_ms: number | null;
}

/** Null: the collector has them all. Never rejects. */
export async function postSpans(
  { url, headers, resource, clock }: Collector,
  spans: readonly FinishedSpan[],
  over: AbortSignal,
): Promise<NotTaken | null> {
  const lost = spans.length;
  const body = otlpBody(resource, spans);
  const post = async (signal: AbortSignal) => {
    const answer = await fetch(url, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body,
      redirect: "error",
      signal,
    });
    const { bytes } = await readUpTo(answer, MOST_ANSWER_BYTES);
    return { answer, text: Buffer.from(bytes).toString() };
  };
  try {
    const limit = { what: "the collector", ms: CALL_MS, signal: over };
    const { answer, text } = await callWithin(clock, limit, post);
    const { status } = answer;
    if (answer.ok) return rejectedOf(text, lost);
    const asked = retryAfterMs(answer.headers.get("retry-after") ?? undefined, clock.now());
    const wait_ms = asked === null ? null : Math.min(MOST_WAIT_MS, asked);
    return { lost, reason: `HTTP ${status}`, later: LATER.includes(status), wait_ms };
  } catch (err) {
    return { lost, reason: errorMessage(err), later: true, wait_ms: null };
  }
}

/** A collector that takes some of the spans says with 200 how many it does not; they are not sent again. */
function rejectedOf(text: string, most: number): NotTaken | null {
  const { rejectedSpans, errorMessage: said } = partialOf(text);
  const lost = Math.min(most, Math.max(0, Math.floor(Number(rejectedSpans ?? 0)) || 0));
  if (lost === 0) return null;
  const words = typeof said === "string" && said !== "" ? `: ${said.slice(0, MOST_WORDS)}` : "";
  return { lost, reason: `the collector rejected them${words}`, later: false, wait_ms: null };
}

function partialOf(text: string): { rejectedSpans?: unknown; errorMessage?: unknown } {
  try {
    const { partialSuccess } = JSON.parse(text) ?? {};
    return typeof partialSuccess === "object" && partialSuccess !== null ? partialSuccess : {};
  } catch {
    // Some answer with nothing, or with what is no JSON.
    return {};
  }
}
