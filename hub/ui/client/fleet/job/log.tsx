import { Badge, Chip, Group, Switch, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import { LOG_LEVELS } from "#shared/kit/log.ts";
import type { Job } from "#shared/protocol/schema/job.ts";
import { useFilters } from "../../lib/filters.ts";
import { countText } from "../../lib/units.ts";
import { LogView } from "../../parts/log-view.tsx";
import type { FeedState } from "./event-feed.ts";
import { lineOf } from "./log-line.ts";
import type { JobEvents } from "./use-events.ts";

const STATES: Record<FeedState, { text: string; color: string }> = {
  connecting: { text: "connecting", color: "yellow" },
  live: { text: "live", color: "teal" },
  polling: { text: "asked for every few seconds", color: "orange" },
  ended: { text: "complete", color: "gray" },
};

/** The job's log as it grows. */
export function Log({ job, feed }: { job: Job; feed: JobEvents }) {
  const [filters, setFilters] = useFilters({ levels: "debug,info,warn,error", q: "" });
  const [follow, setFollow] = useState(true);
  const start = Date.parse(job.created_at);
  const levels = filters.levels.split(",");
  const wanted = filters.q.toLowerCase();
  const lines = feed.events
    .map((event) => lineOf(event, start))
    .filter(
      ({ level, stage, text }) =>
        levels.includes(level) && `${stage} ${text}`.toLowerCase().includes(wanted),
    );
  const { text, color } = STATES[feed.state];
  return (
    <>
      <Group mb="sm" gap="sm">
        <TextInput
          data-filter
          aria-label="Lines that hold"
          placeholder="Lines that hold…"
          w={{ base: "100%", xs: 220 }}
          value={filters.q}
          onChange={(event) => setFilters({ q: event.currentTarget.value })}
        />
        <Chip.Group
          multiple
          value={levels}
          onChange={(next) =>
            setFilters({
              levels: LOG_LEVELS.filter((level) => next.includes(level)).join(",") || "none",
            })
          }
        >
          <Group gap={6} role="group" aria-label="Levels">
            {LOG_LEVELS.map((level) => (
              <Chip key={level} value={level} size="xs">
                {level}
              </Chip>
            ))}
          </Group>
        </Chip.Group>
        <Switch
          size="xs"
          label="Follow"
          checked={follow}
          onChange={(event) => setFollow(event.currentTarget.checked)}
        />
        <Badge variant="light" color={color} className="status" data-feed={feed.state}>
          {text}
        </Badge>
        <Text size="sm" c="dimmed">
          {countText(lines.length)} of {countText(feed.events.length)} lines
          {feed.dropped > 0 && `; the first ${countText(feed.dropped)} are in log.txt`}
        </Text>
      </Group>
      <LogView
        label="Log of the job"
        lines={lines}
        lineKey={({ seq }) => seq}
        follow={follow}
        height="60dvh"
      >
        {(line) => (
          <span className="job-line" data-level={line.level}>
            <span className="at">{line.at}</span> <b>{line.level}</b>{" "}
            <span className="stage">{line.stage}</span> {line.text}
          </span>
        )}
      </LogView>
    </>
  );
}
