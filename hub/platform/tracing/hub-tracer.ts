import type { Tracer } from "#shared/kit/tracing/tracer.ts";
import type { KeptTraces } from "./kept-trace.ts";

/** Where the spans of a hub or a control plane go. */
export interface HubTracer extends Tracer {
  /** The traces of jobs and tasks that wait. */
  readonly kept: KeptTraces;
}
