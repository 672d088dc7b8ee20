import { Box, Text } from "@mantine/core";
import type { Job, JobEvent } from "#shared/protocol/schema/job.ts";
import { useNow } from "../../lib/now.ts";
import { durationText } from "../../lib/units.ts";
import { type Stage, stagesOf, stageTitle } from "./stages.ts";

const MARK = { info: "", warn: "warning", error: "error" };

/** The stages of a job one below the other, each as long as it took. */
export function Timeline({ job, events }: { job: Job; events: readonly JobEvent[] }) {
  const now = useNow();
  const stages = stagesOf(job, events);
  const running_ms = Math.max(0, now - Date.parse(job.created_at));
  const end = (stage: Stage) => stage.until_ms ?? Math.max(stage.from_ms, running_ms);
  const whole = Math.max(1, ...stages.map(end));
  const share = (ms: number) => `${(ms / whole) * 100}%`;
  return (
    <Box component="ol" className="job-timeline" aria-label="Stages">
      {stages.map((stage) => (
        <li key={stage.key} data-worst={stage.worst}>
          <div className="name">
            <Text size="sm" fw={500} span title={stage.name}>
              {stageTitle(stage.name)}
            </Text>
            {MARK[stage.worst] && (
              <Text size="xs" span className="mark">
                {MARK[stage.worst]}
              </Text>
            )}
          </div>
          <div className="took">
            {durationText(end(stage) - stage.from_ms)}
            {stage.until_ms === null && "…"}
          </div>
          <div className="track" aria-hidden>
            <div
              className="bar"
              data-going={stage.until_ms === null || undefined}
              style={{ left: share(stage.from_ms), width: share(end(stage) - stage.from_ms) }}
            />
          </div>
          <Text size="xs" c="dimmed" className="said" truncate title={stage.said}>
            {stage.said}
          </Text>
        </li>
      ))}
    </Box>
  );
}
