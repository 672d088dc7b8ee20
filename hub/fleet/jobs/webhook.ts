import type { JobRow } from "#hub/platform/db/rows.ts";
import { retryWait } from "#shared/kit/backoff.ts";
import { abortAfter } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import { guardedPost, RefusedAddress } from "#shared/kit/guarded-post.ts";
import type { FleetContext } from "../context.ts";
import { fleetSetting } from "../registries/fleet-settings.ts";
import type { Webhooks } from "./parts.ts";
import { jobRecord } from "./record.ts";

type WebhookContext = Pick<
  FleetContext,
  "clock" | "log" | "random" | "config" | "settings_cache"
> & {
  readonly db: Pick<FleetContext["db"], "settings">;
};

/** Deliveries at a time; the others wait their turn. */
const AT_ONCE = 4;
/** A record may hold 200 KB of code: once this many wait, further ones are dropped. */
const MAX_WAITING = 500;
const TRIES = 5;
const TRY_MS = 10_000;
const RETRY = { first: 1_000, most: 30_000 };

/** Answers after which the same call may succeed later. */
const isPassing = (status: number): boolean => status === 408 || status === 429 || status >= 500;

/** One record for one receiver. */
interface Delivery {
  row: JobRow;
  event: string;
  /** Read before every try, because it may change meanwhile; null: there is none any more. */
  address(ctx: WebhookContext): Promise<string | null>;
}

const ofFleet = (ctx: WebhookContext) => fleetSetting(ctx, "webhook_url");

export function createWebhooks(of: () => WebhookContext): Webhooks {
  const stopping = new AbortController();
  const waiting: Delivery[] = [];
  const running = new Set<Promise<void>>();
  let dropped = 0;

  const next = () => {
    while (running.size < AT_ONCE && !stopping.signal.aborted) {
      const delivery = waiting.shift();
      if (!delivery) return;
      const run = deliver(of(), delivery, stopping.signal).finally(() => {
        running.delete(run);
        next();
      });
      running.add(run);
    }
  };
  const enqueue = (delivery: Delivery) => {
    if (stopping.signal.aborted) return;
    if (waiting.length < MAX_WAITING) waiting.push(delivery);
    else {
      dropped += 1;
      // Once for a burst, not for each of its jobs.
      if (dropped % MAX_WAITING === 1)
        of().log.warn({ dropped }, "webhook is too slow: some ends of jobs are not reported");
    }
    next();
  };

  return {
    jobEnded: (row) => {
      const ctx = of();
      const event = `job.${row.status}`;
      ofFleet(ctx).then(
        (url) => {
          if (url !== null) enqueue({ row, event, address: ofFleet });
        },
        (err) => ctx.log.warn({ job_id: row.job_id, err }, "webhook was not sent"),
      );
    },
    jobChanged: (row, url) => {
      if (url !== null) enqueue({ row, event: "job.changed", address: async () => url });
    },
    stop: async () => {
      stopping.abort();
      const given_up = waiting.length + running.size;
      if (given_up > 0) of().log.warn({ given_up }, "webhooks given up: the hub is stopping");
      waiting.length = 0;
      await Promise.all(running);
    },
  };
}

/** Tries until the receiver takes it; a changed setting applies to the next try. Never rejects. */
async function deliver(
  ctx: WebhookContext,
  delivery: Delivery,
  stopping: AbortSignal,
): Promise<void> {
  const { row, event } = delivery;
  const { job_id } = row;
  let said = "";
  for (let n = 0; n < TRIES; n += 1) {
    if (n > 0) await ctx.clock.sleep(retryWait(n - 1, RETRY, ctx.random()), stopping);
    if (stopping.aborted) return;
    try {
      const url = await delivery.address(ctx);
      if (url === null) return;
      const status = await post(ctx, url, delivery, stopping);
      if (status >= 200 && status < 300) return;
      said = `HTTP ${status}`;
      if (!isPassing(status)) break;
    } catch (err) {
      said = errorMessage(err);
      if (err instanceof RefusedAddress) break;
    }
    if (stopping.aborted) return;
  }
  ctx.log.warn({ job_id, event, error: said }, "webhook was not accepted");
}

/** The answer's status; its body is not read. */
async function post(
  { clock }: WebhookContext,
  url: string,
  { row, event }: Delivery,
  stopping: AbortSignal,
): Promise<number> {
  const over = new AbortController();
  const stop = () => over.abort();
  stopping.addEventListener("abort", stop, { once: true });
  try {
    const late = abortAfter(clock, TRY_MS, over.signal);
    const answer = await guardedPost({
      url,
      headers: { "x-flotilla-event": event, "x-flotilla-delivery": row.job_id },
      body: jobRecord(row),
      signal: AbortSignal.any([late, over.signal]),
    });
    answer.destroy();
    return answer.statusCode ?? 0;
  } finally {
    stopping.removeEventListener("abort", stop);
    over.abort();
  }
}
