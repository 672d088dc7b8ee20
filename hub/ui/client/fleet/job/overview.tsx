import { Anchor, Group, Paper, SimpleGrid, Stack, Switch, Text, Title } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { Link } from "wouter";
import type { Job } from "#shared/protocol/schema/job.ts";
import { differenceHref, sessionHref, watchHref } from "../../lib/links.ts";
import { bytesText, countText, timeText } from "../../lib/units.ts";
import { Replayed } from "../replay/replay.tsx";
import { Capture } from "./capture.tsx";
import { Answer, FinalPage } from "./final-state.tsx";
import { JobDuration } from "./state.tsx";
import { Timeline } from "./timeline.tsx";
import type { JobEvents } from "./use-events.ts";

/** What happened, the outcome, and what was requested. */
export function Overview({ job, feed }: { job: Job; feed: JobEvents }) {
  return (
    <Stack>
      <div className="job-outline" data-ended={job.finished_at !== null || undefined}>
        <Paper withBorder p="md">
          <Title order={2} size="h4" mb="sm">
            Stages
          </Title>
          <Timeline job={job} events={feed.events} />
        </Paper>
        {job.finished_at !== null && <FinalPage job={job} />}
      </div>
      {job.answer !== null && <Answer answer={job.answer} />}
      {job.capture && <Capture report={job.capture} />}
      {job.capture?.replay && (
        <Paper withBorder p="md">
          <Replayed replay={job.capture.replay} />
        </Paper>
      )}
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <Facts job={job} />
        <Options job={job} />
      </SimpleGrid>
    </Stack>
  );
}

interface Fact {
  name: string;
  value: ReactNode;
}

function FactList({ facts }: { facts: Fact[] }) {
  return (
    <dl className="job-facts">
      {facts.map(({ name, value }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function Facts({ job }: { job: Job }) {
  const facts: Fact[] = [
    { name: "Title", value: job.title ?? "–" },
    { name: "HTTP status", value: job.http_status ?? "–" },
    { name: "Final address", value: job.final_url ?? "–" },
    {
      name: "Worker",
      value: job.worker_id ? (
        <Anchor component={Link} href="/ui/system/workers" size="sm">
          {job.worker_id}, lane {job.lane_idx}
        </Anchor>
      ) : (
        "–"
      ),
    },
    {
      name: "Session",
      value: job.session_id ? (
        <Anchor component={Link} href={sessionHref(job.session_id)} size="sm">
          {job.session_id}
        </Anchor>
      ) : (
        "–"
      ),
    },
    ...(job.watch_id === null ? [] : [{ name: "Watch", value: <OfWatch job={job} /> }]),
    { name: "Files", value: `${countText(job.asset_count)}, ${bytesText(job.asset_bytes)}` },
    ...(job.mode === "fetch" ? [] : [{ name: "Attempts", value: countText(job.attempts) }]),
    { name: "Submitted", value: timeText(job.created_at) },
    { name: "Started", value: timeText(job.started_at) },
    { name: "Finished", value: timeText(job.finished_at) },
    { name: "Took", value: <JobDuration job={job} /> },
    ...(job.idempotency_key ? [{ name: "Idempotency-Key", value: job.idempotency_key }] : []),
  ];
  return (
    <Paper withBorder p="md">
      <Title order={2} size="h4" mb="sm">
        Facts
      </Title>
      <FactList facts={facts} />
    </Paper>
  );
}

/** The watch that made it, and what it says of it. */
function OfWatch({ job: { watch_id, job_id, changed, changes } }: { job: Job }) {
  return (
    <>
      <Anchor component={Link} href={watchHref(watch_id ?? "")} size="sm">
        {watch_id}
      </Anchor>
      {changes && (
        <>
          {", "}
          <Anchor component={Link} href={differenceHref(changes.against, job_id)} size="sm">
            {changed ? "changed" : "unchanged"}
          </Anchor>
        </>
      )}
    </>
  );
}

/** Unset: null, false and empty lists. */
const isPlain = (value: unknown): boolean => value === null || value === false;

function Options({ job }: { job: Job }) {
  const [all, setAll] = useState(false);
  const shown = Object.entries(job.options).filter(([, value]) => all || !isPlain(value));
  const text = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));
  return (
    <Paper withBorder p="md">
      <Group justify="space-between" mb="sm">
        <Title order={2} size="h4">
          Options
        </Title>
        <Switch
          size="xs"
          label="Unset ones too"
          checked={all}
          onChange={(event) => setAll(event.currentTarget.checked)}
        />
      </Group>
      <FactList
        facts={shown.map(([name, value]) => ({
          name,
          value: (
            <Text size="sm" ff="monospace" className="wrap" lineClamp={12}>
              {text(value)}
            </Text>
          ),
        }))}
      />
    </Paper>
  );
}
