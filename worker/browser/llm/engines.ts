import { refusalOf } from "#shared/client/errors.ts";
import { createHttp, type Http } from "#shared/client/http.ts";
import type { Clock } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import { ResolvedEngine } from "#shared/protocol/schema/engine.ts";
import { fetchHub } from "#shared/protocol/trust.ts";

/** An engine that the hub does not provide; `invalid` when another request would get the same answer. */
export class EngineUnknown extends Error {
  override readonly name = "EngineError";
  readonly kind: "invalid" | "broken";
  constructor(kind: EngineUnknown["kind"], message: string) {
    super(message);
    this.kind = kind;
  }
}

export interface Engines {
  /**
   * The engine behind a slug, or `auto`, as the hub at `base_url` knows it; kept in memory for a few seconds.
   * @throws EngineUnknown
   */
  resolve(
    base_url: string,
    slug: string,
    purpose: "ask" | "agent",
    signal: AbortSignal,
  ): Promise<ResolvedEngine>;
}

/** A changed engine takes effect within this time. */
const KEEP_MS = 3_000;
const ANSWER_MS = 10_000;
const MAX_DETAIL = 500;

/** Asks the hub for engines (rules/engines#resolve-an-engine): their keys live nowhere else on a worker than in here. */
export function createEngines({ clock, secret }: { clock: Clock; secret: string | null }): Engines {
  const known = new Map<string, { engine: ResolvedEngine; until: number }>();
  const headers: Record<string, string> = secret === null ? {} : { "x-worker-secret": secret };
  return {
    resolve: async (base_url, slug, purpose, signal) => {
      const now = clock.monotonic();
      for (const [key, { until }] of known) if (until <= now) known.delete(key);
      const key = JSON.stringify([base_url, slug, purpose]);
      const kept = known.get(key);
      if (kept) return kept.engine;
      const http = createHttp({ base_url, headers, clock, timeout_ms: ANSWER_MS, fetch: fetchHub });
      const engine = await askHub(http, slug, purpose, signal);
      known.set(key, { engine, until: clock.monotonic() + KEEP_MS });
      return engine;
    },
  };
}

const RESOLVE = "GET /engines/{slug}/resolve";

/** @throws EngineUnknown */
async function askHub(
  http: Pick<Http, "call">,
  slug: string,
  purpose: "ask" | "agent",
  signal: AbortSignal,
): Promise<ResolvedEngine> {
  try {
    const answer = await http.call(RESOLVE, { params: { slug }, query: { purpose }, signal });
    const engine = ResolvedEngine.safeParse(answer);
    if (engine.success) return engine.data;
  } catch (err) {
    signal.throwIfAborted();
    // The operator must correct a wrong secret, not the caller.
    const kind =
      (refusalOf(err, RESOLVE, 404) ?? refusalOf(err, RESOLVE, 422)) ? "invalid" : "broken";
    throw new EngineUnknown(kind, `engine ${slug} was not resolved: ${whyOf(err)}`);
  }
  throw new EngineUnknown("broken", `engine ${slug} was not resolved: the hub sent no engine`);
}

const whyOf = (err: unknown): string => errorMessage(err).slice(0, MAX_DETAIL);
