import { type HeapStats, heapStats } from "bun:jsc";
import { rmSync } from "node:fs";
import { PROBE_ENV, type Probed, probeSocket } from "./probe-client.ts";

/**
 * Loaded with `--preload` into the processes of a soak, and only there: answers on a socket of its own what the JavaScript
 * heap and the allocator hold. `?gc` collects first; `/snapshot` is a heap snapshot for a browser's developer tools.
 */

const dir = process.env[PROBE_ENV];
const mode = process.argv[2];

function probe(): Probed {
  const stats: HeapStats & { mimalloc?: Record<string, { current: number }> } = heapStats();
  const { heapSize, extraMemorySize, objectCount, objectTypeCounts } = stats;
  const { malloc_normal, malloc_huge } = stats.mimalloc ?? {};
  return {
    heap: heapSize,
    extra: extraMemorySize,
    objects: objectCount,
    malloc: (malloc_normal?.current ?? 0) + (malloc_huge?.current ?? 0),
    types: objectTypeCounts,
  };
}

if (dir && mode) {
  // What a process that was killed has left: nothing listens there.
  rmSync(probeSocket(dir, mode), { force: true });
  Bun.serve({
    unix: probeSocket(dir, mode),
    fetch: ({ url }) => {
      const { pathname, searchParams } = new URL(url);
      if (searchParams.has("gc")) Bun.gc(true);
      return pathname === "/snapshot"
        ? new Response(Bun.generateHeapSnapshot("v8"))
        : Response.json(probe());
    },
  }).unref();
}
