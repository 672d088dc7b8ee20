import { Badge, Box, Group, Text, Title } from "@mantine/core";
import { Link } from "wouter";
import type { ReplayReport } from "#shared/protocol/schema/replay.ts";
import { jobHref } from "../../lib/links.ts";
import { countText, timeText } from "../../lib/units.ts";

/** Says that a browser shows a capture and not the web. */
export function ReplayBadge({ replay, link = false }: { replay: ReplayReport; link?: boolean }) {
  const { job_id } = replay;
  const look = { variant: "light", color: "violet", className: "status replay-badge" };
  const text = `Replay of ${job_id}`;
  return link ? (
    <Badge {...look} component={Link} href={jobHref(job_id)} title="To the job">
      {text}
    </Badge>
  ) : (
    <Badge {...look} title="It shows the capture of this job, and nothing leaves the machine">
      {text}
    </Badge>
  );
}

/** What the capture answered, and what it could not (rules/replay#the-report). */
export function Replayed({ replay }: { replay: ReplayReport }) {
  const { answered, missed, missed_count, clock_began } = replay;
  return (
    <Box component="section" aria-label="Replay">
      <Group justify="space-between" mb={4}>
        <Title order={2} size="h5">
          Replay
        </Title>
        <Text size="sm">
          {countText(answered)} answered, {countText(missed_count)} missing
        </Text>
      </Group>
      {clock_began !== undefined && (
        <Text size="sm" c="dimmed">
          Its clock began at {timeText(clock_began)}
        </Text>
      )}
      {missed.length > 0 && (
        <Box component="ul" className="session-tabs" aria-label="Not in the capture">
          {missed.map(({ method, url, reason }) => (
            <Box component="li" key={`${method} ${url}`}>
              <Box miw={0}>
                <Text size="sm" ff="monospace" truncate title={url}>
                  {method} {url}
                </Text>
                <Text size="xs" c="dimmed" className="wrap">
                  {reason}
                </Text>
              </Box>
            </Box>
          ))}
        </Box>
      )}
    </Box>
  );
}
