import { Alert, Stack, Text } from "@mantine/core";
import { IconAlertTriangle, IconClock } from "@tabler/icons-react";
import type { Job } from "#shared/schema/job.ts";
import type { Worker } from "#shared/schema/worker.ts";
import { useGet } from "../../lib/query.ts";
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
  const { data } = useGet<{ workers: Worker[] }>("/workers");
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
      <Text size="sm">{data ? whyItWaits(data.workers, job) : "It starts by itself."}</Text>
    </Alert>
  );
}

const plural = (n: number, one: string) => `${n} ${one}${n === 1 ? "" : "s"}`;

/** Where its browser will come from, as far as the workers tell. */
export function whyItWaits(workers: readonly Worker[], job: Job): string {
  const alive = workers.filter((worker) => worker.alive);
  if (alive.length === 0)
    return "No browser worker is connected. Start one with: flotilla worker. The job starts by itself then.";
  const active = alive.filter(({ status }) => status === "active");
  if (active.length === 0)
    return `No worker takes jobs: ${plural(alive.length, "worker")} on drain or standby. Set one to active on the page Browser workers.`;
  const lanes = active.flatMap((worker) => worker.lanes);
  const free = lanes.filter(({ state }) => state === "warm").length;
  const bound = ["use_profile", "attach", "clone_chrome_profile", "attach_to_job"] as const;
  const wants = bound.filter((name) => job.options[name] !== null);
  if (free > 0 && wants.length > 0)
    return `${plural(free, "lane")} free, but it wants ${wants.join(", ")}, which no free one has now.`;
  if (free > 0)
    return job.mode === "fetch"
      ? "A lane is free: it is about to start."
      : `${plural(free, "lane")} free; jobs with scripts also wait until one of the hub's runners is.`;
  return `All ${plural(lanes.length, "lane")} of ${plural(active.length, "worker")} are in use. It starts by itself as soon as one is free.`;
}
