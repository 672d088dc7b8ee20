import { Anchor, Box, Group, Text } from "@mantine/core";
import { Link } from "wouter";
import type { Lane } from "#shared/protocol/schema/worker.ts";
import { jobHref, sessionHref } from "../../lib/links.ts";
import { Status } from "../../parts/text.tsx";

/** The lanes with their state and what runs on them. */
export function LaneList({ lanes }: { lanes: readonly Lane[] }) {
  if (lanes.length === 0)
    return (
      <Text size="sm" c="dimmed">
        It has reported none
      </Text>
    );
  return (
    <Box component="ul" className="lane-list">
      {lanes.map((lane) => (
        <Box component="li" key={lane.lane_idx}>
          <Group gap="xs">
            <Text size="sm" fw={600} miw={56}>
              Lane {lane.lane_idx}
            </Text>
            <Status value={lane.state} />
            <Text size="xs" c="dimmed">
              {lane.mode}, sandbox {lane.sandbox}
            </Text>
            {lane.session_id !== null && (
              <Anchor component={Link} size="sm" href={sessionHref(lane.session_id)}>
                Session
              </Anchor>
            )}
            {lane.job_id !== null && (
              <Anchor component={Link} size="sm" href={jobHref(lane.job_id)}>
                Job
              </Anchor>
            )}
          </Group>
          {lane.reason !== null && (
            <Text size="xs" className="wrap">
              {lane.reason}
            </Text>
          )}
        </Box>
      ))}
    </Box>
  );
}
