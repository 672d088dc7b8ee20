import { eventsChannel } from "#hub/platform/cluster/messages.ts";
import type { FleetContext } from "../context.ts";
import type { JobBus } from "./parts.ts";

type BusContext = Pick<FleetContext, "changes" | "cluster" | "hub_id" | "log" | "pubsub">;

/** Streams of this hub are woken directly. This hub listens to the others only while a stream follows the job. */
export function createJobBus(context: () => BusContext): JobBus {
  const streams = new Map<string, Set<() => void>>();
  const wake = (job_id: string) => {
    for (const each of streams.get(job_id) ?? []) each();
  };
  /** Stops listening, even to a channel that is still being opened. */
  const listen = (job_id: string): (() => void) => {
    const { pubsub, hub_id, log } = context();
    const heard = (message: unknown) => {
      if ((message as { from?: unknown } | null)?.from !== hub_id) wake(job_id);
    };
    const listening = pubsub.subscribe(eventsChannel(job_id), heard);
    // For what was published while the channel was being opened.
    listening.then(
      () => wake(job_id),
      (err) =>
        log.warn({ job_id, err }, "events of other hubs are not heard; polling for them instead"),
    );
    return () => void listening.then((end) => end()).catch(() => {});
  };
  const ends = new Map<string, () => void>();
  return {
    publish: (job_id) => {
      wake(job_id);
      context().changes.touch("jobs");
      context().cluster.publish(eventsChannel(job_id));
    },
    subscribe: (job_id, each) => {
      const of = streams.get(job_id) ?? new Set();
      streams.set(job_id, of.add(each));
      if (of.size === 1 && context().cluster.shared) ends.set(job_id, listen(job_id));
      return () => {
        of.delete(each);
        if (of.size > 0 || streams.get(job_id) !== of) return;
        streams.delete(job_id);
        ends.get(job_id)?.();
        ends.delete(job_id);
      };
    },
    wakeAll: () => {
      for (const job_id of [...streams.keys()]) wake(job_id);
    },
  };
}
