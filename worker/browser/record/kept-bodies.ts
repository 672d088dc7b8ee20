import type { SpooledBody } from "#worker/upload/asset-sink.ts";
import type { CdpSession, Protocol } from "../cdp/connection.ts";
import { goingOn } from "../cdp/late-headers.ts";
import type { Pause } from "./pauses.ts";
import { fileSink } from "./read-body.ts";
import { declaredLength } from "./requests.ts";
import { dropBody, type Spool } from "./spool.ts";

type Paused = Protocol.Fetch.RequestPausedEvent;

/** Larger bodies are not delayed. */
const MAX_TAKEN_BYTES = 64 * 1024 * 1024;
/** A body that takes longer is passed on without being kept. */
const TAKE_MS = 30_000;

/** Bodies that no network session can read, kept from a pause at their answer. */
export interface KeptBodies {
  pause: Pause;
  /**
   * Lets a held request go on that began too early to be reported; its answer's body is kept. `onAnswered`: when the
   * answer goes on to the page.
   */
  follow(paused: Paused, onAnswered?: () => void): void;
  /** Takes a body of this URL out; null when there is none. */
  take(url: string): SpooledBody | null;
  /** URLs of bodies that nobody took; the bodies are discarded. */
  finish(): string[];
}

/**
 * @param seen resolves when the receiver of an answer is watched: before that the page learns of the answer, and we
 * do not
 */
export function keepBodies(root: CdpSession, spool: Spool, seen: () => Promise<void>): KeptBodies {
  const kept = new Map<string, SpooledBody[]>();
  /** Callbacks for answers that go on, by the id of their pause. */
  const awaited = new Map<string, () => void>();

  const keep = async ({ requestId, request }: Paused) => {
    const file = spool.open();
    const timeout_ms = TAKE_MS;
    try {
      await root.sendBody("Fetch.getResponseBody", { requestId }, fileSink(file), { timeout_ms });
      const body = file.finish();
      if (body) kept.set(request.url, [...(kept.get(request.url) ?? []), body]);
    } catch {
      // Its request counts as lost once its answer is reported and read.
      file.discard();
    }
  };
  const onAnswer = async (paused: Paused, onAnswered: () => void) => {
    if (isTakeable(paused)) await keep(paused);
    await seen();
    onAnswered();
    root.post("Fetch.continueRequest", { requestId: paused.requestId });
  };
  return {
    pause: {
      type: "any",
      stage: "Response",
      takes: (paused) => {
        const onAnswered = awaited.get(paused.requestId);
        if (!onAnswered) return false;
        awaited.delete(paused.requestId);
        void onAnswer(paused, onAnswered);
        return true;
      },
    },
    follow: (paused, onAnswered = () => {}) => {
      const { requestId } = paused;
      awaited.set(requestId, onAnswered);
      const how = Object.assign(goingOn(root, paused, true), { interceptResponse: true });
      root.post("Fetch.continueRequest", how);
    },
    take: (url) => kept.get(url)?.shift() ?? null,
    finish: () => {
      const left = [...kept].flatMap(([url, bodies]) => bodies.map((body) => ({ url, body })));
      kept.clear();
      for (const { body } of left) dropBody(body);
      return left.map(({ url }) => url);
    },
  };
}

/** Whether an answer has a body that ends and is not a download. */
function isTakeable({ responseStatusCode: status = 0, responseHeaders = [] }: Paused): boolean {
  const headers = new Map(responseHeaders.map(({ name, value }) => [name.toLowerCase(), value]));
  const endless = /^(text\/event-stream|multipart\/)/i.test(headers.get("content-type") ?? "");
  const download = /^attachment/i.test(headers.get("content-disposition") ?? "");
  const redirect = status >= 300 && status < 400;
  if (status < 200 || redirect || endless || download) return false;
  return (declaredLength(headers) ?? 0) <= MAX_TAKEN_BYTES;
}
