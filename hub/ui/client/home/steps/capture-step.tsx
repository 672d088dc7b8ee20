import { Anchor, Button, TextInput } from "@mantine/core";
import { IconWorld } from "@tabler/icons-react";
import { type FormEvent, useState } from "react";
import { Link } from "wouter";
import { counted } from "#shared/kit/words.ts";
import type { Job } from "#shared/protocol/schema/job.ts";
import { JobDuration, JobState } from "../../fleet/job/state.tsx";
import { bodyOf } from "../../fleet/submit/body.ts";
import { useSend } from "../../fleet/submit/send.ts";
import { info } from "../../lib/info.ts";
import { jobHref } from "../../lib/links.ts";
import { errorText, useChange, useGet } from "../../lib/query.ts";
import { bytesText } from "../../lib/units.ts";
import { BrowserFrame, LivePicture } from "./browser-frame.tsx";

/** Its stages are told by no stream that this page listens to. */
const EVERY_MS = 1_000;

/** Development mode serves a page to try things with, usually at the next port. */
const demoAddress = (): string | null =>
  info.mode === "dev" && location.port !== ""
    ? `http://${location.hostname}:${Number(location.port) + 1}/demo/`
    : null;

export const isOver = ({ finished_at }: Pick<Job, "finished_at">): boolean => finished_at !== null;

export const useCapture = (job_id: string) =>
  useGet(
    "/jobs/{id}",
    { params: { id: job_id } },
    {
      enabled: job_id !== "",
      refetchInterval: ({ state }) =>
        state.data !== undefined && isOver(state.data) ? false : EVERY_MS,
    },
  );

function Progress({ job }: { job: Job }) {
  const files = `${counted(job.asset_count, "file")} · ${bytesText(job.asset_bytes)}`;
  return (
    <p className="first-status" role="status">
      <JobState job={job} />
      <span>
        <JobDuration job={job} /> · {files}
      </span>
      {isOver(job) && (
        <Anchor component={Link} href={jobHref(job.job_id)} size="sm">
          Open the capture
        </Anchor>
      )}
    </p>
  );
}

interface CaptureStepProps {
  job: Job | undefined;
  onJob: (job_id: string) => void;
}

/** Captures a page here and says how it goes. */
export function CaptureStep({ job, onJob }: CaptureStepProps) {
  const [url, setUrl] = useState("");
  const send = useSend();
  const submit = useChange(
    (at: string) => send(bodyOf({ url: at, preset: null, given: {}, labels: [] })),
    {
      failed: "Nothing was captured",
      onDone: onJob,
      quiet: true,
    },
  );
  const demo = demoAddress();
  const [missing, setMissing] = useState(false);
  const go = (event: FormEvent) => {
    event.preventDefault();
    setMissing(url.trim() === "");
    if (url.trim() !== "") submit.mutate(url);
  };
  const error = missing ? "An address is needed" : submit.error && errorText(submit.error);
  return (
    <form onSubmit={go} noValidate>
      <div className="first-line">
        <TextInput
          aria-label="Address of the page"
          placeholder="https://example.com/"
          leftSection={<IconWorld size={14} />}
          value={url}
          error={error}
          inputMode="url"
          autoComplete="off"
          onChange={(event) => setUrl(event.currentTarget.value)}
        />
        <Button type="submit" loading={submit.isPending || (job !== undefined && !isOver(job))}>
          Capture
        </Button>
      </div>
      {demo !== null && url === "" && (
        <button type="button" className="first-skip" onClick={() => setUrl(demo)}>
          Use the demo page of development mode
        </button>
      )}
      {job && <Progress job={job} />}
      {job?.status === "failed" && <p className="first-error">{job.error}</p>}
    </form>
  );
}

/** The page as it comes: the lane's screen while it runs, then the picture that was kept. */
export function CapturePicture({ job }: { job: Job | undefined }) {
  if (job === undefined)
    return (
      <BrowserFrame address="" live={false}>
        <p className="first-empty">The page appears here while a browser opens it.</p>
      </BrowserFrame>
    );
  const sid = job.status === "running" ? job.session_id : null;
  const picture = job.screenshot_href ?? job.thumbnail_href;
  return (
    <>
      <BrowserFrame address={job.final_url ?? job.url} live={sid !== null}>
        {sid !== null && <LivePicture key={sid} sid={sid} />}
        {sid === null && picture !== null && (
          <img src={picture} alt="The page at the end of its capture" />
        )}
      </BrowserFrame>
      <p className="first-caption">{captionOf(job)}</p>
    </>
  );
}

function captionOf({ status }: Job): string {
  if (status === "queued") return "It waits for a free lane.";
  if (status === "running")
    return "This is the lane itself. When the page is quiet it becomes a recording that you can scrub.";
  return "This is what was kept: the page, every file, and a recording of how it loaded.";
}
