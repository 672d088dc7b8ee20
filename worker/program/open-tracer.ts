import { openProcessTracer, type Tracer } from "#shared/kit/tracing/tracer.ts";
import type { WorkerDeps } from "./worker-deps.ts";

/** Where the spans of this worker go; absent where no collector is named (rules/spans#on-and-off). */
export function openTracer({
  config: { tracing },
  clock,
  log,
  version,
}: Pick<WorkerDeps, "config" | "clock" | "log" | "version">): Tracer | undefined {
  if (tracing === null) return undefined;
  return openProcessTracer(tracing, { name: "flotilla-worker", version, clock, log });
}
