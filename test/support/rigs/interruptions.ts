import { CdpConnection } from "#worker/browser/cdp/connection.ts";
import { socketTransport } from "#worker/browser/cdp/transport.ts";
import { connectRfb, type RfbClient } from "../clients/rfb-client.ts";

/** Somebody who uses the fleet all the while, and notices when it does not answer. */
export interface Watched {
  readonly name: string;
  /** Longest time between two answers, in ms. */
  readonly longest: number;
  /** What was said instead of an answer; each once. */
  readonly troubles: ReadonlySet<string>;
  /** Resolves with the first answer to what is asked from now on. */
  answers(): Promise<void>;
  end(): Promise<void>;
}

const EVERY_MS = 100;
const REPEAT_MS = 250;

/**
 * Does `round` again and again. A round that rejects was no answer.
 * @param after what is to be done at the end.
 */
function watch(name: string, round: () => Promise<void>, after: () => Promise<void>): Watched {
  const over = new AbortController();
  const troubles = new Set<string>();
  let longest = 0;
  let last: number | null = null;
  let waiting: { since: number; resolve: () => void }[] = [];
  const run = async () => {
    while (!over.signal.aborted) {
      const asked = performance.now();
      const trouble = await round().then(
        () => null,
        (err) => String(err),
      );
      const now = performance.now();
      if (trouble !== null) troubles.add(trouble);
      else {
        longest = Math.max(longest, last === null ? 0 : now - last);
        last = now;
        for (const { since, resolve } of waiting) if (since <= asked) resolve();
        waiting = waiting.filter(({ since }) => since > asked);
      }
      await Bun.sleep(trouble === null ? EVERY_MS : REPEAT_MS);
    }
    await after();
  };
  const running = run();
  return {
    name,
    get longest() {
      return Math.round(longest);
    },
    troubles,
    answers: () => new Promise((resolve) => waiting.push({ since: performance.now(), resolve })),
    end: () => {
      over.abort();
      return running;
    },
  };
}

/** @param ask rejects when there is no answer. */
export const watchCalls = (name: string, ask: () => Promise<void>): Watched =>
  watch(name, ask, async () => {});

/** A CDP client of a session; it evaluates `code` in the session's first page, and connects again when it is cut off. */
export function watchCdp(cdp_url: string, code: string, expected: unknown): Watched {
  let client: CdpConnection | null = null;
  let page: string | null = null;
  const leave = () => {
    client?.close();
    [client, page] = [null, null];
  };
  const round = async () => {
    client ??= new CdpConnection(await socketTransport(cdp_url));
    if (page === null) {
      const { targetInfos } = await client.root.send("Target.getTargets");
      const targetId = targetInfos.find(({ type }) => type === "page")?.targetId ?? "";
      const attached = await client.root.send("Target.attachToTarget", { targetId, flatten: true });
      page = attached.sessionId;
    }
    const session = client.session(page);
    const answer = await session?.send("Runtime.evaluate", { expression: code });
    if (answer?.result.value !== expected)
      throw new Error(`CDP: ${code} is ${JSON.stringify(answer?.result)}`);
  };
  const orAgain = () =>
    round().catch((err) => {
      leave();
      throw err;
    });
  return watch("CDP client", orAgain, async () => leave());
}

/** A person at a viewer whose page connects again by itself. */
export function watchViewer(stream_url: string): Watched {
  let screen: RfbClient | null = null;
  let closed: number | null = null;
  const round = async () => {
    if (closed !== null) {
      const code = closed;
      [screen, closed] = [null, null];
      throw new Error(`viewer closed with ${code}`);
    }
    if (screen !== null) return;
    const connected = await connectRfb(stream_url);
    screen = connected;
    void connected.closed.then((code) => {
      closed = code;
    });
  };
  return watch("viewer", round, async () => screen?.close());
}
