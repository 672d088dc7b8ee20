import { fileURLToPath } from "node:url";

/**
 * Entry point of the thread. A version that runs inside another program's process finds its own modules because that
 * program says where they are (`update/packages.ts`), but only in that program's thread: this file repeats it before
 * any module is loaded.
 */

declare const self: Worker;

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

Bun.plugin({
  name: "flotilla-thread",
  setup: (build) => {
    // `#worker/…`: the alias of a top directory.
    build.onResolve({ filter: /^#[a-z]+\// }, ({ path }) => ({ path: `${ROOT}${path.slice(1)}` }));
  },
});

const early: MessageEvent[] = [];
self.onmessage = (event) => void early.push(event);

const { hear } = await import("./serve.ts");
self.onmessage = hear;
for (const event of early) hear(event);
