/**
 * Code with which somebody begins who writes a workload in the page. It runs as it stands: `test/flow/code-workloads.test.ts`
 * runs each on a worker.
 */
export const PYTHON_EXAMPLE = `def run(pk, extra, ctx):
    """Runs one task. What it returns is kept as the task's output; an exception fails it."""
    name = (extra or {}).get("name", pk)
    ctx.log(f"greeting {name}")
    return {"greeting": f"Hello, {name}!"}
`;

export const TYPESCRIPT_EXAMPLE = `interface Task {
  pk: string;
  extra: { name?: string } | null;
  attempt: number;
}
interface Context {
  log(text: string, level?: "debug" | "info" | "warn" | "error"): void;
  progress(value: number, text?: string): void;
  signal: AbortSignal;
}

/** Runs one task. What it returns is kept as the task's output; an exception fails it. */
export async function run(task: Task, ctx: Context) {
  const name = task.extra?.name ?? task.pk;
  ctx.log(\`greeting \${name}\`);
  return { greeting: \`Hello, \${name}!\` };
}
`;

/** A task that both can do something with. */
export const EXAMPLE_TASK = { pk: "first", extra: { name: "Ada" } };

/** What the runtimes call, in a line each. */
export const SIGNATURES = {
  python_module: "run(pk, extra, ctx), or run_batch(items, ctx); either may be async",
  bun_module: "run({pk, extra, attempt}, ctx), or run_batch(tasks, ctx); either may be async",
} as const;
