import { pathOf } from "#shared/client/operation.ts";

/** A file of a run beside the videos of its recording. */
export interface RunFile {
  name: string;
  note: string;
  href: string;
  download: string;
}

interface Run {
  of: { kind: "job" | "session"; id: string };
  /** The job whose session this is; a job's requests and archives are the job's own. */
  job_id: string | null;
  /** Whether it leaves a Playwright trace. */
  trace: boolean;
}

/** What else can be saved of a run (rules/recordings#the-player). */
export function filesOf({ of, job_id, trace }: Run): RunFile[] {
  return of.kind === "job" ? filesOfJob(of.id, trace) : filesOfSession(of.id, trace, job_id);
}

function filesOfJob(id: string, trace: boolean): RunFile[] {
  const to = { params: { id } };
  const files: RunFile[] = [
    {
      name: "HAR",
      note: "The job's requests",
      href: pathOf("GET /jobs/{id}/har.json", to),
      download: `${id}-har.json`,
    },
    {
      name: "WACZ",
      note: "A web archive with its index",
      href: pathOf("GET /jobs/{id}/archive.wacz", to),
      download: `flotilla-${id}.wacz`,
    },
    {
      name: "WARC",
      note: "A web archive as one file",
      href: pathOf("GET /jobs/{id}/archive.warc.gz", to),
      download: `flotilla-${id}.warc.gz`,
    },
  ];
  if (trace) files.push(traceAt(pathOf("GET /jobs/{id}/trace.zip", to), id));
  return files;
}

function filesOfSession(sid: string, trace: boolean, job_id: string | null): RunFile[] {
  const to = { params: { sid } };
  const files: RunFile[] = [];
  if (job_id === null)
    files.push({
      name: "HAR",
      note: "The session's requests",
      href: pathOf("GET /sessions/{sid}/har.json", to),
      download: `${sid}-har.json`,
    });
  if (trace) files.push(traceAt(pathOf("GET /sessions/{sid}/trace.zip", to), sid));
  return files;
}

const traceAt = (href: string, id: string): RunFile => ({
  name: "Playwright trace",
  note: "For Playwright's own viewer, when the run has ended",
  href,
  download: `flotilla-${id}-trace.zip`,
});
