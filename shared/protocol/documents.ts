/**
 * The documents of a job: its files that are not assets (rules/documents#result). Routes, the archive, the clients, the
 * command line and the web app read this table. Who makes a document is `worker/browser/fetch/collect.ts` for those of
 * the worker, and `hub/fleet/jobs/documents.ts` for those that the hub makes when they are asked for.
 */
interface Document {
  mime: string;
  /** The most that is stored of it; absent: as much as of any document. */
  max_bytes?: number;
  made_by: "worker" | "hub";
  /** Whether the archive and `fetch --out` have it too. */
  in_archive: boolean;
  /** What it is, where people choose one. */
  label: string;
  operation_id: string;
  /** The title of its route, and what more there is to say. */
  summary: string;
  description: string;
}

export const JOB_DOCUMENTS = {
  "assets.zip": {
    mime: "application/zip",
    made_by: "hub",
    in_archive: false,
    label: "Everything, as one archive",
    operation_id: "getJobArchive",
    summary: "Download every file of a job as one archive",
    description:
      "assets.json, the documents and assets/, streamed and not compressed. A running job gives what it has so far.",
  },
  "archive.warc.gz": {
    mime: "application/gzip",
    made_by: "hub",
    in_archive: false,
    label: "A web archive (WARC 1.1)",
    operation_id: "getJobWarc",
    summary: "Download what the browser requested and received as a WARC file",
    description:
      "Requests, answers, page and screenshots as WARC 1.1, each record compressed by itself. Cookies and credentials are masked.",
  },
  "archive.wacz": {
    mime: "application/zip",
    made_by: "hub",
    in_archive: false,
    label: "A web archive with its index (WACZ 1.1.1)",
    operation_id: "getJobWacz",
    summary: "Download what the browser requested and received as a WACZ file",
    description:
      "archive.warc.gz with an index and a list of pages, which replay opens without reading all of it.",
  },
  "log.txt": {
    mime: "text/plain; charset=utf-8",
    made_by: "hub",
    in_archive: true,
    label: "The log",
    operation_id: "getJobLog",
    summary: "Read the execution log, even of a running job",
    description: "Rendered from the stored events: one line for each, with its time.",
  },
  "page.html": {
    mime: "text/html; charset=utf-8",
    made_by: "worker",
    in_archive: true,
    label: "The page as it was at the end",
    operation_id: "getJobPage",
    summary: "Read the captured HTML",
    description: "The DOM as it was at the end, serialised; sent with a sandboxing CSP.",
  },
  "screenshot.png": {
    mime: "image/png",
    max_bytes: 16 * 1024 * 1024,
    made_by: "worker",
    in_archive: true,
    label: "The whole page at the end, as a picture",
    operation_id: "getJobScreenshot",
    summary: "Read the screenshot of the whole page at the end of a job",
    description:
      "Of failed jobs too. A very long page is made smaller and cut. 404 where there is none.",
  },
  "thumbnail.webp": {
    mime: "image/webp",
    max_bytes: 256 * 1024,
    made_by: "worker",
    in_archive: false,
    label: "A small picture of the page at the end",
    operation_id: "getJobThumbnail",
    summary: "Read a small picture of the page at the end of a job",
    description: "What the window showed, 320 pixels wide. 404 where there is none.",
  },
  "links.json": {
    mime: "application/json",
    made_by: "worker",
    in_archive: true,
    label: "The links of the page",
    operation_id: "listJobLinks",
    summary: "List the links of the page",
    description: "Every link of the page with its text, resolved against the page's URL.",
  },
  "trace.zip": {
    mime: "application/zip",
    max_bytes: 128 * 1024 * 1024,
    made_by: "worker",
    in_archive: true,
    label: "The script's run, as a Playwright trace",
    operation_id: "getJobTrace",
    summary: "Download the Playwright trace of a script",
    description:
      "For `npx playwright show-trace`. Of jobs with the option trace, and of the last attempt; 404 where there is none. Known secrets are masked in its text; pictures show what the page showed.",
  },
  "har.json": {
    mime: "application/json",
    made_by: "worker",
    in_archive: true,
    label: "Requests, as HAR 1.2",
    operation_id: "getJobHar",
    summary: "Read what the browser requested and received, as HAR 1.2",
    description:
      "Without bodies: content._asset names the asset that holds one. Cookies and credentials are masked. Until the job has stored it, what its recording has noted of its requests, without headers and with log._ms.",
  },
} as const satisfies Record<string, Document>;

type Documents = typeof JOB_DOCUMENTS;
export type JobDocument = keyof Documents;
type MadeBy<Maker extends Document["made_by"]> = {
  [N in JobDocument]: Documents[N]["made_by"] extends Maker ? N : never;
}[JobDocument];
/** A document that the worker uploads and the object store keeps. */
export type StoredDocument = MadeBy<"worker">;
/** A document that the hub makes when it is asked for. */
export type HubDocument = MadeBy<"hub">;

export const DOCUMENT_NAMES = Object.keys(JOB_DOCUMENTS) as JobDocument[];
export const isStored = (name: JobDocument): name is StoredDocument =>
  JOB_DOCUMENTS[name].made_by === "worker";
export const STORED_DOCUMENTS = DOCUMENT_NAMES.filter(isStored);
/** The most that is stored of a document which has a bound of its own. */
export const ownBound = (name: JobDocument): number => {
  const { max_bytes }: Document = JOB_DOCUMENTS[name];
  return max_bytes ?? Number.POSITIVE_INFINITY;
};
export const ARCHIVED_DOCUMENTS = DOCUMENT_NAMES.filter((name) => JOB_DOCUMENTS[name].in_archive);
