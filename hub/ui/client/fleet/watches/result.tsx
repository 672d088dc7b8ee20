import type { Job } from "#shared/protocol/schema/job.ts";
import type { Watch } from "#shared/protocol/schema/watch.ts";
import { Status } from "../../parts/text.tsx";

/** What became of the last capture. */
export function Result({ watch }: { watch: Watch }) {
  const { last, last_error, paused } = watch;
  if (last === null)
    return last_error === null ? (
      <NotYet paused={paused} />
    ) : (
      <Status value="failed" title={last_error} />
    );
  if (last.status !== "completed")
    return <Status value={last.status} title={last_error ?? undefined} />;
  return <Status value={wordFor(last.changed)} title={last_error ?? undefined} />;
}

const NotYet = ({ paused }: { paused: boolean }) => (
  <Status value={paused ? "paused" : "pending"} />
);

const wordFor = (changed: boolean | null): string =>
  changed === null ? "first" : changed ? "changed" : "unchanged";

/** What became of one capture. */
export function CaptureResult({ job }: { job: Job }) {
  const { status, changed, error } = job;
  const word = status === "completed" ? wordFor(changed) : status;
  return <Status value={word} title={error ?? undefined} />;
}
