import { expect, test } from "bun:test";
import type { FleetContext } from "#hub/fleet/context.ts";
import { createDispatcher } from "#hub/fleet/jobs/dispatcher.ts";
import { createCandidateTeller } from "#hub/fleet/links/candidate.ts";
import { silentLog } from "#shared/kit/log.ts";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";

test("what a hub has free is told once its running pass is over, so that nobody claims the job of that pass (rules/cluster#jobs-across-hubs)", async () => {
  const clock = createFakeClock();
  const told: unknown[] = [];
  const dispatcher = createDispatcher(silentLog, async () => {});
  const ctx = {
    clock,
    dispatcher,
    links: new Map(),
    draining: new AbortController().signal,
    disk_room: { shortage: null },
    cluster: {
      peers: new Map([["another", {}]]),
      tell: (message: unknown) => void told.push(message),
    },
  } as unknown as FleetContext;
  const claimed = Promise.withResolvers<void>();
  void dispatcher.exclusive(() => claimed.promise);
  createCandidateTeller(clock, () => ctx).changed();
  await clock.advance(1_000);
  expect(told).toEqual([]);
  claimed.resolve();
  await clock.advance(0);
  expect(told).toEqual([{ type: "candidate", best: null }]);
});
