import { Anchor, Stack, Text } from "@mantine/core";
import { Link } from "wouter";
import type { Job } from "#shared/protocol/schema/job.ts";
import type { Watch } from "#shared/protocol/schema/watch.ts";
import { jobHref, watchHref } from "../../lib/links.ts";
import { useGet } from "../../lib/query.ts";
import { Fact, FactList } from "../../parts/facts.tsx";
import { Moment, PanelActions, PanelPart } from "../../parts/panel-parts.tsx";
import { Loadable } from "../../parts/states.tsx";
import { Ago } from "../../parts/text.tsx";
import { SmallPicture } from "../job/pictures.tsx";
import { CaptureResult, Result } from "./result.tsx";
import { WatchFacts } from "./watch-facts.tsx";
import { changesText } from "./watch-words.ts";

/** Two lines of three where the panel has its usual width. */
const SHOWN = 6;

/** A watch beside its list: what it found last, what it captures and when, and its last captures as pictures. */
export function WatchPanel({ watch }: { watch: Watch }) {
  const { watch_id, last, last_change } = watch;
  return (
    <Stack gap="md">
      <PanelActions state={<Result watch={watch} />} href={watchHref(watch_id)} open="Open watch" />
      <FactList label="Last results">
        <Fact name="Captured">
          <Past of={last} />
        </Fact>
        <Fact name="Last change">
          <Past of={last_change} />
        </Fact>
      </FactList>
      <WatchFacts watch={watch} />
      <PanelPart title="Last captures">
        <Captures key={watch_id} watch_id={watch_id} />
      </PanelPart>
    </Stack>
  );
}

/** When there was such a capture, as a link to it. */
function Past({ of }: { of: { job_id: string; at: string } | null }) {
  if (of === null) return <>–</>;
  return (
    <Anchor component={Link} href={jobHref(of.job_id)} size="sm">
      <Moment at={of.at} />
    </Anchor>
  );
}

/** The newest first. Its caller keys it by the watch, so that it never shows those of another one. */
function Captures({ watch_id }: { watch_id: string }) {
  const query = useGet("/jobs", { query: { watch: watch_id, limit: SHOWN } });
  return (
    <Loadable query={query} lines={2}>
      {({ jobs }) =>
        jobs.length === 0 ? (
          <Text size="sm" c="dimmed">
            There are no captures yet.
          </Text>
        ) : (
          <ul className="panel-captures">
            {jobs.map((job) => (
              <li key={job.job_id}>
                <Capture job={job} />
              </li>
            ))}
          </ul>
        )
      }
    </Loadable>
  );
}

function Capture({ job }: { job: Job }) {
  return (
    <Link
      className="panel-capture"
      href={jobHref(job.job_id)}
      title={job.changes ? changesText(job.changes) : undefined}
    >
      <SmallPicture className="thumb panel-picture" src={job.thumbnail_href} />
      <CaptureResult job={job} />
      <Ago at={job.created_at} />
    </Link>
  );
}
