import { pathOf } from "#shared/client/operation.ts";
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
  return {
    resolve: async (base_url, slug, purpose, signal) => {
      const now = clock.monotonic();
      for (const [url, { until }] of known) if (until <= now) known.delete(url);
      const asked = { params: { slug }, query: { purpose } };
      const url = `${base_url}${pathOf("GET /engines/{slug}/resolve", asked)}`;
      const kept = known.get(url);
      if (kept) return kept.engine;
      const engine = await askHub(url, slug, secret, signal);
      known.set(url, { engine, until: clock.monotonic() + KEEP_MS });
      return engine;
    },
  };
}

async function askHub(
  url: string,
  slug: string,
  secret: string | null,
  signal: AbortSignal,
): Promise<ResolvedEngine> {
  let status: number;
  let body: unknown;
  try {
    const response = await fetchHub(url, {
      headers: secret === null ? {} : { "x-worker-secret": secret },
      redirect: "manual",
      signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]),
    });
    status = response.status;
    body = await response.json();
  } catch (err) {
    signal.throwIfAborted();
    throw new EngineUnknown("broken", `engine ${slug} was not resolved: ${errorMessage(err)}`);
  }
  if (status === 200) {
    const engine = ResolvedEngine.safeParse(body);
    if (engine.success) return engine.data;
  }
  const { detail } = (body ?? {}) as { detail?: unknown };
  const why =
    typeof detail === "string" ? detail.slice(0, MAX_DETAIL) : `the hub answered ${status}`;
  // The operator must correct a wrong secret, not the caller.
  const kind = status === 404 || status === 422 ? "invalid" : "broken";
  throw new EngineUnknown(kind, `engine ${slug} was not resolved: ${why}`);
}
