import { Anchor } from "@mantine/core";
import { Link } from "wouter";
import type { Job } from "#shared/protocol/schema/job.ts";
import { withQuery } from "../../lib/http.ts";
import { useNowText } from "../../lib/now.ts";
import { bytesText, durationText } from "../../lib/units.ts";
import { jobLook } from "../../parts/status/job.ts";
import { sentenceFor } from "./sentence.ts";
import { JobDuration, JobRing } from "./state.tsx";

const failuresHref = (group: string): string => withQuery("/ui/captures/failures", { group });

/** What became of the job, in words; of a failure its whole error, and what helps. */
export function JobSentence({ job }: { job: Job }) {
  const waited = useNowText((now) =>
    job.status === "queued" ? durationText(Math.max(0, now - Date.parse(job.created_at))) : "",
  );
  const { point, more } = sentenceFor(job, waited);
  return (
    <p className="verdict-said">
      <b>{point}</b> {more}{" "}
      {job.fingerprint !== null && (
        <Anchor component={Link} href={failuresHref(job.fingerprint)}>
          What failed alike
        </Anchor>
      )}
    </p>
  );
}

/** What became of the job in one sentence, with the facts beside it. */
export function VerdictBand({ job }: { job: Job }) {
  const { icon: Mark, word, tone } = jobLook(job);
  return (
    <section className="verdict state-band" data-tone={tone} aria-label="What became of it">
      <span className="verdict-mark state" data-tone={tone}>
        <Mark size={16} stroke={2} aria-hidden />
        <span className="state-word">{word}</span>
      </span>
      <JobSentence job={job} />
      <JobFacts job={job} />
    </section>
  );
}

/** Of scripted jobs: which attempt of how many it has come to. */
function attemptText({ attempts, mode, options }: Job): string | null {
  if (mode === "fetch" || attempts === 0) return null;
  const most = mode === "codegen-loop" ? Number(options.max_codegen_attempts) : attempts;
  return `attempt ${attempts} of ${Math.max(attempts, most || 0)}`;
}

function JobFacts({ job }: { job: Job }) {
  const { capture, asset_bytes, worker_id, lane_idx, started_at } = job;
  if (started_at === null) return null;
  const attempt = attemptText(job);
  return (
    <span className="verdict-facts">
      <span className="verdict-ring">
        <JobRing job={job} />
        {capture !== null && capture.seen > 0 && " files whole"}
      </span>
      <span>
        <JobDuration job={job} />
      </span>
      <span>{bytesText(asset_bytes)}</span>
      {attempt && <span>{attempt}</span>}
      {worker_id && (
        <span>
          {worker_id}, lane {lane_idx}
        </span>
      )}
    </span>
  );
}
