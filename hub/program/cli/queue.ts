import type { QueueCounts } from "#shared/client/index.ts";
import { EXIT } from "./exit.ts";
import { type Terminal, tableFor } from "./print.ts";
import { startProgress } from "./progress.ts";
import { type WatchDeps, watchQueue } from "./watch-queue.ts";

const table = (slug: string, counts: QueueCounts, terminal: Terminal): string => {
  const titles = ["pending", "claimed", "failed", "total"] as const;
  return tableFor(
    terminal,
    [{ title: "workload" }, ...titles.map((title) => ({ title, right: true }))],
    [[slug, ...titles.map((title) => String(counts[title]))]],
  );
};

/** `flotilla queue`: the counts now, or with `watch` as they change, until Ctrl-C (exit code 130). */
export async function runQueueCommand(
  deps: WatchDeps,
  { slug, watch, json }: { slug: string; watch: boolean; json: boolean },
): Promise<number> {
  const { workloads, terminal, clock } = deps;
  if (!watch) {
    const counts = await workloads.queue(slug);
    terminal.out(`${json ? JSON.stringify(counts) : table(slug, counts, terminal)}\n`);
    return EXIT.ok;
  }
  const progress = json ? null : startProgress(terminal, clock);
  try {
    await watchQueue(
      deps,
      slug,
      progress,
      () => false,
      (counts) => json && terminal.out(`${JSON.stringify(counts)}\n`),
    );
    return EXIT.interrupted;
  } finally {
    progress?.end();
  }
}
