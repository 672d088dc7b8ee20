import { FlotillaError } from "#shared/client/errors.ts";
import type { Job } from "#shared/protocol/schema/job.ts";
import { lateFile } from "../lib/late-file.ts";
import { useGet } from "../lib/query.ts";
import { LatePart } from "../parts/late-part.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Empty, Loadable } from "../parts/states.tsx";
import { AnswerBand } from "./job/answer-band.tsx";
import { JobHead } from "./job/head.tsx";
import { Offers } from "./job/offers.tsx";
import { useEnding } from "./job/use-ending.ts";
import { useJobEvents } from "./job/use-events.ts";
import { VerdictBand } from "./job/verdict-band.tsx";

// What plays a recording is as large as all other pages together.
const PLAYER = lateFile(async () => (await import("./job/job-player.tsx")).JobPlayer);

const CRUMBS = [{ title: "Captures", href: "/ui/captures" }];

/** The page of a capture is its player, with everything about the job beside it. */
export function Page({ params }: { params: Record<string, string> }) {
  const job_id = params.job_id ?? "";
  const query = useGet("/jobs/{id}", { params: { id: job_id } });
  // The previous job stays in `data` while another one loads.
  const data = query.data?.job_id === job_id ? query.data : undefined;
  if (query.error instanceof FlotillaError && query.error.status === 404)
    return <NoJob id={job_id} />;
  if (!data) {
    return (
      <>
        <PageHead title={`Job ${job_id}`} crumbs={CRUMBS} />
        <Loadable query={{ ...query, data: undefined } as typeof query}>{() => null}</Loadable>
      </>
    );
  }
  return <Loadable query={query}>{() => <JobView key={job_id} job={data} />}</Loadable>;
}

function NoJob({ id }: { id: string }) {
  return (
    <>
      <PageHead title={`Job ${id}`} crumbs={CRUMBS} />
      <Empty title="There is no such job" command={`curl ${location.origin}/jobs?limit=5`}>
        It may have been deleted, by hand or because it was older than the fleet keeps jobs, or the
        address is mistyped.
      </Empty>
    </>
  );
}

const NO_ATTEMPTS: never[] = [];

function JobView({ job }: { job: Job }) {
  const feed = useJobEvents(job.job_id);
  const scripted = job.mode !== "fetch";
  const { data } = useGet(
    "/jobs/{id}/attempts",
    { params: { id: job.job_id } },
    { enabled: scripted },
  );
  const attempts = data?.attempts ?? NO_ATTEMPTS;
  const ended = useEnding(job);
  return (
    <div className="capture">
      <JobHead job={job} />
      {job.mode === "codegen-loop" && job.answer !== null ? (
        <AnswerBand job={job} attempts={attempts} />
      ) : (
        <VerdictBand job={job} />
      )}
      <Offers job={job} />
      {ended && (
        <p className="capture-ended" role="status">
          It has ended while you watched. The player stays where it was.
        </p>
      )}
      <LatePart file={PLAYER}>
        {(JobPlayer) => <JobPlayer job={job} feed={feed} attempts={attempts} />}
      </LatePart>
    </div>
  );
}
