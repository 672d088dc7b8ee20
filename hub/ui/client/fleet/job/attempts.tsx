import { Badge, Group, Text, UnstyledButton } from "@mantine/core";
import type { AttemptSummary } from "#shared/protocol/schema/attempt.ts";
import type { Job } from "#shared/protocol/schema/job.ts";
import { useFilters } from "../../lib/filters.ts";
import { useGet } from "../../lib/query.ts";
import { Empty, Loadable } from "../../parts/states.tsx";
import { Elapsed } from "../../parts/text.tsx";
import { AttemptView } from "./attempt.tsx";
import { verdictOf } from "./verdict.ts";

/** What a scripted job tried, one attempt after the other, and what it offers to later jobs. */
export function Attempts({ job }: { job: Job }) {
  const query = useGet("/jobs/{id}/attempts", { params: { id: job.job_id } });
  const [filters, setFilters] = useFilters({ attempt: "" });
  return (
    <Loadable query={query}>
      {({ attempts }) => {
        const last = attempts.at(-1);
        if (!last)
          return (
            <Empty title="No attempt yet">
              {job.finished_at === null
                ? "The first one begins when the page is open."
                : "The job ended before its first script: the log says why."}
            </Empty>
          );
        const shown = attempts.find(({ n }) => String(n) === filters.attempt) ?? last;
        return (
          <>
            <Group gap="xs" mb="md" role="group" aria-label="Attempts">
              {attempts.map((attempt) => (
                <AttemptCard
                  key={attempt.n}
                  attempt={attempt}
                  current={attempt.n === shown.n}
                  onOpen={() => setFilters({ attempt: String(attempt.n) })}
                />
              ))}
            </Group>
            <AttemptView key={shown.n} job={job} n={shown.n} />
          </>
        );
      }}
    </Loadable>
  );
}

interface CardProps {
  attempt: AttemptSummary;
  current: boolean;
  onOpen: () => void;
}

function AttemptCard({ attempt, current, onOpen }: CardProps) {
  const { title, color } = verdictOf(attempt);
  return (
    <UnstyledButton className="job-attempt" aria-pressed={current} onClick={onOpen}>
      <Text size="sm" fw={600}>
        Attempt {attempt.n}
      </Text>
      <Badge variant="light" color={color} className="status" size="sm">
        {title}
      </Badge>
      <Text size="xs" c="dimmed">
        <Elapsed since={attempt.started_at} until={attempt.finished_at} />
        {attempt.engine && ` · ${attempt.engine}`}
        {attempt.ran_in === "replay" && " · in replay"}
      </Text>
    </UnstyledButton>
  );
}
