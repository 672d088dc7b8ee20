import { Button } from "@mantine/core";
import { IconPlayerPlay } from "@tabler/icons-react";
import { type ComponentType, type ReactNode, useMemo } from "react";
import type { AttemptSummary } from "#shared/protocol/schema/attempt.ts";
import type { Har } from "#shared/protocol/schema/har.ts";
import type { Job } from "#shared/protocol/schema/job.ts";
import { serverNow } from "../../lib/connection.ts";
import { type LateFile, lateFile } from "../../lib/late-file.ts";
import { useGet } from "../../lib/query.ts";
import { countText } from "../../lib/units.ts";
import { LatePart } from "../../parts/late-part.tsx";
import { requestLine } from "../player/model/requests.ts";
import type { SidePanel } from "../player/panels/side.tsx";
import type { TimedRow } from "../player/player.tsx";
import { Recording } from "../player/recording.tsx";
import { Viewer } from "../viewer/viewer.tsx";
import { Details } from "./details.tsx";
import { FinalPicture, hasFinalPicture } from "./final-state.tsx";
import { typeOf } from "./har.ts";
import { lineOf } from "./log-line.ts";
import { storyOfJob } from "./story.ts";
import type { JobEvents } from "./use-events.ts";
import { useJobActions } from "./use-job-actions.ts";
import { useSteady } from "./use-steady.ts";

const ASSETS = lateFile(async () => (await import("./assets.tsx")).Assets);
const SAVED_PAGE = lateFile(async () => (await import("./saved-page.tsx")).SavedPage);
const ATTEMPTS = lateFile(async () => (await import("./attempts.tsx")).Attempts);

const ONCE = { refetchInterval: false, staleTime: Number.POSITIVE_INFINITY, retry: false } as const;

interface JobPlayerProps {
  job: Job;
  feed: JobEvents;
  attempts: readonly AttemptSummary[];
}

/** What the job's browser showed and did, moment by moment; at its right end live, while the job runs. */
export function JobPlayer({ job, feed, attempts }: JobPlayerProps) {
  const { job_id, status, session_id, finished_at } = job;
  const over = finished_at !== null;
  const har = useGet("/jobs/{id}/har.json", { params: { id: job_id } }, { ...ONCE, enabled: over });
  const requests = useMemo(() => (har.data ? requestRows(har.data) : []), [har.data]);
  const log = useMemo(() => logRows(feed), [feed]);
  const of = useMemo(() => ({ kind: "job", id: job_id }) as const, [job_id]);
  const stages = useMemo(
    () => storyOfJob(job, feed.events, attempts),
    [job, feed.events, attempts],
  );
  const { replay } = useJobActions(job);
  const screen = useSteady(status === "running" ? session_id : null);
  return (
    <Recording
      of={of}
      requests={requests}
      no_requests={noRequests(over, har.isError)}
      log={log}
      live={screen === null ? null : <Viewer sid={screen} height="var(--live-height)" />}
      bare={bareRun(job)}
      recorded={job.started_at !== null && job.options.record !== "off"}
      stages={stages}
      pages={{ first: job.url, last: job.final_url ?? job.url }}
      panels={panelsOf(job)}
      trace={job.options.trace === true}
      still={<FinalPicture job={job} />}
      atEnd={hasFinalPicture(job) ? <FinalPicture job={job} /> : null}
      logNote={<FeedNote feed={feed} />}
      fromHere={
        status === "completed"
          ? (url) => (
              <Button
                size="xs"
                variant="default"
                className="player-replay"
                leftSection={<IconPlayerPlay size={14} />}
                loading={replay.isPending}
                title="Opens this capture in a browser that asks nobody else"
                onClick={() => replay.mutate(url && /^https?:/.test(url) ? url : null)}
              >
                Replay from here
              </Button>
            )
          : undefined
      }
    />
  );
}

/** With room around it, unlike the lists. */
const roomy = (file: LateFile<ComponentType<{ job: Job }>>, job: Job): ReactNode => (
  <div className="panel-body">
    <LatePart file={file}>{(Panel) => <Panel job={job} />}</LatePart>
  </div>
);

function panelsOf(job: Job): readonly SidePanel[] {
  const scripted = job.mode !== "fetch";
  return [
    { name: "assets", title: "Assets", count: job.asset_count, show: roomy(ASSETS, job) },
    ...(scripted
      ? [
          {
            name: "attempts",
            title: "Attempts",
            count: job.attempts,
            show: roomy(ATTEMPTS, job),
          },
        ]
      : []),
    { name: "page", title: "Page", show: roomy(SAVED_PAGE, job) },
    { name: "details", title: "Details", show: <Details job={job} /> },
  ];
}

function noRequests(over: boolean, missing: boolean): string {
  if (!over) return "The requests appear when the job ends.";
  return missing ? "Its requests were not kept." : "The page requested nothing.";
}

/** What the job's own record knows of its time. */
function bareRun(job: Job) {
  const started_at = job.started_at ?? job.created_at;
  const until = job.finished_at === null ? serverNow() : Date.parse(job.finished_at);
  const ms = Math.max(0, until - Date.parse(started_at));
  // Every few seconds is often enough: nothing moves by it.
  // One that waits is followed too, into what its browser will show.
  return { started_at, ms: Math.round(ms), live: job.finished_at === null };
}

const FEEDS: Record<JobEvents["state"], string> = {
  connecting: "connecting",
  live: "live",
  polling: "asked for every few seconds",
  ended: "complete",
};

function FeedNote({ feed: { state, dropped } }: { feed: JobEvents }): ReactNode {
  return (
    <span data-feed={state}>
      {FEEDS[state]}
      {dropped > 0 && `; the first ${countText(dropped)} are in log.txt`}
    </span>
  );
}

/** Requests at the moment at which they began. */
const requestRows = ({ log }: Har): TimedRow[] =>
  log.entries.map((entry, i) => ({
    key: String(i),
    at: Date.parse(entry.startedDateTime),
    ...requestLine(entry),
    note: typeOf(entry),
    har: entry,
  }));

const logRows = ({ events }: JobEvents): TimedRow[] =>
  events.map((event) => {
    const { seq, level, stage, text } = lineOf(event, 0);
    return { key: `l${seq}`, at: Date.parse(event.ts), name: stage, text, level };
  });
