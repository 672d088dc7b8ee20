import { Link } from "wouter";
import type { Job } from "#shared/protocol/schema/job.ts";
import { SmallPicture } from "../fleet/job/pictures.tsx";
import { JobDuration, JobState } from "../fleet/job/state.tsx";
import { jobHref } from "../lib/links.ts";
import { useGet } from "../lib/query.ts";
import { capturesHref } from "./links.ts";

/** A line of them on a wide screen. */
const SHOWN = 6;

const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).host : url);

function Capture({ job }: { job: Job }) {
  const host = hostOf(job.url);
  return (
    <li>
      <Link className="home-capture" href={jobHref(job.job_id)}>
        <SmallPicture className="home-thumb" src={job.thumbnail_href} />
        <span className="home-capture-title" title={job.title ?? job.url}>
          {job.title || job.url.replace(/^https?:\/\//, "")}
        </span>
        <span className="home-capture-host" title={job.url}>
          {host}
        </span>
        <span className="home-capture-foot">
          <JobState job={job} />
          <span className="home-capture-took">
            <JobDuration job={job} />
          </span>
        </span>
      </Link>
    </li>
  );
}

/** The newest captures as pictures. */
export function LatestCaptures() {
  const jobs = useGet("/jobs", { query: { limit: String(SHOWN) } });
  const rows = jobs.data?.jobs ?? [];
  return (
    <section className="home-latest" aria-label="Latest captures">
      <header className="home-section-head">
        <h2>Latest captures</h2>
        <Link className="home-more" href={capturesHref()}>
          All captures<span aria-hidden> ›</span>
        </Link>
      </header>
      <ul className="home-captures">
        {rows.map((job) => (
          <Capture key={job.job_id} job={job} />
        ))}
        {jobs.data && rows.length === 0 && <li className="home-none">Nothing was captured yet.</li>}
      </ul>
    </section>
  );
}
