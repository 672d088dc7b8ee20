import { Anchor, Switch, Text } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { Link } from "wouter";
import type { Job } from "#shared/protocol/schema/job.ts";
import { withQuery } from "../../lib/http.ts";
import { sessionHref, workersHref } from "../../lib/links.ts";
import { bytesText, countText, timeText } from "../../lib/units.ts";
import { Copy } from "../../parts/copy.tsx";
import { LabelLinks } from "../../parts/labels.tsx";
import { Replayed } from "../replay/replay.tsx";
import { Capture } from "./capture.tsx";
import { LongText } from "./long-text.tsx";
import { OfWatch } from "./of-watch.tsx";
import { JobDuration } from "./state.tsx";

/** Everything that is known of the job: its answer, its capture, its facts and its options. */
export function Details({ job }: { job: Job }) {
  const { answer, capture } = job;
  return (
    <div className="job-details">
      {answer !== null && (
        <Part title="Answer">
          <LongText
            text={typeof answer === "string" ? answer : JSON.stringify(answer, null, 2)}
            none="It is empty."
          />
        </Part>
      )}
      {capture && <Capture report={capture} />}
      {capture?.replay && <Replayed replay={capture.replay} />}
      <Facts job={job} />
      <Options job={job} />
    </div>
  );
}

interface PartProps {
  title: string;
  side?: ReactNode;
  children: ReactNode;
}

const Part = ({ title, side, children }: PartProps) => (
  <section className="job-part">
    <header>
      <h2>{title}</h2>
      {side}
    </header>
    {children}
  </section>
);

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

const capturesOf = (label: string) => withQuery("/ui/captures", { label });

function Facts({ job }: { job: Job }) {
  const facts: Fact[] = [
    {
      name: "Address",
      value: (
        <>
          {job.url} <Copy text={job.url} label="Copy the address" />
        </>
      ),
    },
    { name: "Title", value: job.title ?? "–" },
    { name: "Labels", value: <LabelLinks labels={job.labels} hrefOf={capturesOf} /> },
    { name: "HTTP status", value: job.http_status ?? "–" },
    { name: "Final address", value: job.final_url ?? "–" },
    { name: "Mode", value: job.mode },
    {
      name: "Worker",
      value: job.worker_id ? (
        <Anchor component={Link} href={workersHref("browser")} size="sm">
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
    ...(job.watch_id === null ? [] : [{ name: "Schedule", value: <OfWatch job={job} /> }]),
    { name: "Files", value: `${countText(job.asset_count)}, ${bytesText(job.asset_bytes)}` },
    ...(job.mode === "fetch" ? [] : [{ name: "Attempts", value: countText(job.attempts) }]),
    { name: "Submitted", value: timeText(job.created_at) },
    { name: "Started", value: timeText(job.started_at) },
    { name: "Finished", value: timeText(job.finished_at) },
    { name: "Took", value: <JobDuration job={job} /> },
    {
      name: "Id",
      value: (
        <>
          {job.job_id} <Copy text={job.job_id} label="Copy the id" />
        </>
      ),
    },
    ...(job.idempotency_key ? [{ name: "Idempotency-Key", value: job.idempotency_key }] : []),
  ];
  return (
    <Part title="Facts">
      <FactList facts={facts} />
    </Part>
  );
}

/** Unset: null, false and empty lists. */
const isPlain = (value: unknown): boolean => value === null || value === false;

function Options({ job }: { job: Job }) {
  const [all, setAll] = useState(false);
  const shown = Object.entries(job.options).filter(([, value]) => all || !isPlain(value));
  const text = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));
  return (
    <Part
      title="Options"
      side={
        <Switch
          size="xs"
          label="Unset ones too"
          checked={all}
          onChange={(event) => setAll(event.currentTarget.checked)}
        />
      }
    >
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
    </Part>
  );
}
