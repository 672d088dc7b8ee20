import { sweepImports } from "#hub/fleet/imports/spool.ts";
import { failAwaited, failLeftovers } from "#hub/fleet/jobs/finish.ts";
import { awaitWorkers, readAwaited } from "#hub/fleet/links/awaited.ts";
import { drainHub } from "#hub/fleet/links/drain.ts";
import { createProfileSweeper } from "#hub/fleet/registries/profile-sweep.ts";
import {
  advertisedUrl,
  beatHubOnce,
  leaveHubs,
  otherHubAlive,
} from "#hub/platform/cluster/hubs.ts";
import type { Scope } from "#shared/kit/scope.ts";
import { createHubApp } from "./app.ts";
import type { RunningHub, ServeDeps } from "./hub-deps.ts";
import { startLoops } from "./loops.ts";
import { openContext } from "./open-context.ts";
import { running, type Serving, serve } from "./serving.ts";

export async function openHub(deps: ServeDeps, scope: Scope): Promise<RunningHub> {
  const { config, log } = deps;
  let server: Serving | null = null;
  const draining = new AbortController();
  const ctx = await openContext(deps, scope, draining.signal, async () => server?.close());
  const sweeper = createProfileSweeper(ctx);
  // Before it looks for others: two hubs that start together must not take each other's jobs for leftovers.
  scope.add("hub registry", ctx, leaveHubs);
  await beatHubOnce(ctx);
  await ctx.cluster.listen();
  if (!(await otherHubAlive(ctx))) {
    await readAwaited(ctx);
    await failLeftovers(ctx);
    await sweeper.sweepAll();
  }
  await sweepImports(ctx).catch((err) => log.warn({ err }, "imports left behind were not removed"));
  // Closed in reverse: work under way → listener → loops → waiting calls → dispatcher → links (1012) → connections → stores → db.
  server = serve(deps, createHubApp(ctx), scope);
  ctx.advertise.port = server.port;
  ctx.advertise.url = config.advertise_url ?? advertisedUrl(config, server.port);
  await beatHubOnce(ctx);
  ctx.cluster.greet();
  startLoops(deps, ctx, scope, sweeper);
  void awaitWorkers(ctx, (worker_id) => failAwaited(ctx, worker_id)).catch((err) =>
    log.error({ err }, "could not fail the jobs of workers that have not come back"),
  );
  scope.add("listener", server, (s) => s.stopListening());
  scope.add("work under way", ctx, () => drainHub(ctx, draining));
  log.info({ host: config.host, port: server.port, version: deps.version }, "hub started");
  return running(deps, ctx, server, scope);
}
