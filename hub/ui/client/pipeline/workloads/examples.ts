import type { ExecutorType } from "#shared/protocol/schema/workload.ts";

interface Example {
  /** What it is for. */
  text: string;
  config: Record<string, unknown>;
  /** Keys of tasks that it can do something with. */
  pks: string[];
}

/** One for each type of executor, ready to be created. */
export const EXAMPLES: Record<ExecutorType, Example> = {
  command: {
    text: "A program per task: the task is JSON on its stdin, its stdout is kept, an exit code other than 0 is a failure.",
    config: { argv: ["sh", "-c", 'cat; echo "hello from $$" >&2'] },
    pks: ["first", "second"],
  },
  python_module: {
    text: "A Python module on the worker's machine, kept warm between tasks: it is imported once and called for each batch.",
    config: {
      source_path: "/srv/plugins/thumbnails",
      module: "thumbnails",
      init_kwargs: { width: 320 },
    },
    pks: ["https://example.com/a.jpg"],
  },
  bun_module: {
    text: "A TypeScript or JavaScript module on the worker's machine, kept warm between tasks.",
    config: { source_path: "/srv/plugins/resize", module: "resize.ts" },
    pks: ["https://example.com/a.jpg"],
  },
  fleet_fetch: {
    text: "Each task's key is an address; a browser of the fleet opens it and keeps what it downloads.",
    config: { options: { scroll: true } },
    pks: ["https://example.com/"],
  },
};

/** A workload and its first task by curl. */
export const createCommand = (): string =>
  `curl ${location.origin}/api/v1/workloads -H 'content-type: application/json' -d '${JSON.stringify(
    {
      slug: "hello",
      executor_type: "command",
      executor_config: { argv: ["sh", "-c", "cat"] },
    },
  )}'
curl ${location.origin}/api/v1/workloads/hello/tasks -H 'content-type: application/json' -d '{"pk": "first"}'`;
