import { parseTraceparent } from "#shared/kit/tracing/trace-context.ts";
import type { Span, Tracer } from "#shared/kit/tracing/tracer.ts";
import type { HubAssignJob } from "#shared/protocol/link/messages.ts";
import type { BatchedStory } from "#worker/link/story.ts";

/** The spans of a job on its lane: the whole run, and each of its stages (rules/spans#a-job). */
export interface JobTrace {
  /** The job's log, whose lines say when a stage begins. */
  follow(story: BatchedStory): BatchedStory;
  /** `failure`: why the run has no result, or failed. Only the first call counts. */
  end(failure: string | null): void;
}

/** Lines that tell of the page and of its network, and begin nothing. */
const NO_STAGE = ["page", "network", "trace"];

export function openJobTrace(
  tracer: Tracer,
  { job_id, lane_idx, traceparent }: Pick<HubAssignJob, "job_id" | "lane_idx" | "traceparent">,
): JobTrace {
  const run = tracer.start("job on lane", {
    parent: parseTraceparent(traceparent),
    attributes: { "flotilla.job.id": job_id, "flotilla.lane": lane_idx },
  });
  let stage: { name: string; span: Span } | null = null;
  const enter = (name: string) => {
    if (stage?.name === name || NO_STAGE.includes(name)) return;
    stage?.span.end();
    stage = { name, span: tracer.start(`job: ${name}`, { parent: run.context }) };
  };
  return {
    follow: (story) => ({
      ...story,
      log: (level, name, message, fields) => {
        enter(name);
        story.log(level, name, message, fields);
      },
    }),
    end: (failure) => {
      stage?.span.end();
      stage = null;
      run.end(failure);
    },
  };
}
