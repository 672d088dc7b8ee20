import { Alert, Stack, Text } from "@mantine/core";
import { IconAlertTriangle, IconClock } from "@tabler/icons-react";
import type { Job, WaitingFor } from "#shared/protocol/schema/job.ts";
import { Elapsed } from "../../parts/text.tsx";
import { adviceFor } from "./advice.ts";
import { stageTitle } from "./stages.ts";

/** Above everything: why the job waits, or why it failed and what to do. */
export function JobNotice({ job }: { job: Job }) {
  if (job.status === "queued") return <Queued job={job} />;
  if (job.error === null) return null;
  return (
    <Alert
      mb="md"
      color={job.status === "cancelled" ? "gray" : "red"}
      icon={<IconAlertTriangle />}
      title={titleOf(job)}
    >
      <Stack gap={4}>
        <Text size="sm" className="wrap">
          {job.error}
        </Text>
        {job.status === "failed" && <Text size="sm">{adviceFor(job.error)}</Text>}
      </Stack>
    </Alert>
  );
}

function titleOf({ status, stage }: Job): string {
  const what = status === "cancelled" ? "It was cancelled" : "It failed";
  return stage && stage !== "done" ? `${what} (${stageTitle(stage).toLowerCase()})` : what;
}

function Queued({ job }: { job: Job }) {
  const place = job.queue_position === null ? "" : ` Place ${job.queue_position} in the queue.`;
  return (
    <Alert
      mb="md"
      color="blue"
      icon={<IconClock />}
      title={
        <>
          Waiting for a browser for <Elapsed since={job.created_at} />.{place}
        </>
      }
    >
      <Text size="sm">{whyItWaits(job)}</Text>
    </Alert>
  );
}

/** What a person can do about what the job waits for. */
const HELP: Partial<Record<WaitingFor["reason"], string>> = {
  stopping: "It starts when the next hub is running.",
  no_worker: "Start one with: flotilla worker. The job then starts by itself.",
  workers_paused: "Set one to active on the Browser workers page.",
  disk_full: "Make room on a worker's disk.",
  no_lane: "The worker's log says why its browsers do not start.",
};

function whyItWaits({ waiting_for }: Pick<Job, "waiting_for">): string {
  if (waiting_for === null) return "It starts by itself.";
  const { reason, detail } = waiting_for;
  const said = `${detail.charAt(0).toUpperCase()}${detail.slice(1)}.`;
  return `${said} ${HELP[reason] ?? "It starts by itself."}`;
}
