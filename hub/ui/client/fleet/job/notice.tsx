import { Alert, Anchor, Button, Stack, Text } from "@mantine/core";
import { IconAlertTriangle, IconClock, IconPlayerPlay } from "@tabler/icons-react";
import { Link } from "wouter";
import type { Job, WaitingFor } from "#shared/protocol/schema/job.ts";
import { withQuery } from "../../lib/http.ts";
import { jobHref } from "../../lib/links.ts";
import { useGet } from "../../lib/query.ts";
import { Elapsed } from "../../parts/text.tsx";
import { adviceFor } from "./advice.ts";
import { stageWhere } from "./stages.ts";

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
        {job.status === "failed" && <FailureLink job={job} />}
        {job.fingerprint !== null && (
          <Anchor
            component={Link}
            size="sm"
            href={withQuery("/ui/captures/failures", { group: job.fingerprint })}
          >
            What failed alike
          </Anchor>
        )}
      </Stack>
    </Alert>
  );
}

/** To the recording where it went wrong; the player finds the moment (rules/recordings#the-player). */
function FailureLink({ job: { job_id, started_at } }: { job: Job }) {
  const recording = useGet(
    "/jobs/{id}/recording",
    { params: { id: job_id } },
    { enabled: started_at !== null, refetchInterval: false, retry: false },
  );
  if (!recording.data) return null;
  return (
    <Button
      component={Link}
      size="xs"
      variant="default"
      w="fit-content"
      mt={4}
      leftSection={<IconPlayerPlay size={14} />}
      href={jobHref(job_id, { tab: "recording", t: "failure" })}
    >
      See the moment it failed
    </Button>
  );
}

function titleOf({ status, stage }: Job): string {
  const what = status === "cancelled" ? "It was cancelled" : "It failed";
  return `${what} ${stageWhere(stage ?? "")}`.trim();
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
  workers_paused: "Set one to active on the page Workers.",
  hub_disk_full: "It starts when there is room.",
  disk_full: "Make room on a worker's disk.",
  no_lane: "The worker's log says why its browsers do not start.",
};

function whyItWaits({ waiting_for }: Pick<Job, "waiting_for">): string {
  if (waiting_for === null) return "It starts by itself.";
  const { reason, detail } = waiting_for;
  const said = `${detail.charAt(0).toUpperCase()}${detail.slice(1)}.`;
  return `${said} ${HELP[reason] ?? "It starts by itself."}`;
}
