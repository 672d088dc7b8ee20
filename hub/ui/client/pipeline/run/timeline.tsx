import { Group, Text, UnstyledButton } from "@mantine/core";
import type { ReactNode } from "react";
import type { TaskHistory } from "#shared/protocol/schema/queue.ts";
import { useNow } from "../../lib/now.ts";
import { durationText } from "../../lib/units.ts";
import { Ago, Status } from "../../parts/text.tsx";
import { roundsOf } from "./rounds.ts";

interface Line {
  key: string;
  attempt: number;
  run_id: number | null;
  outcome: string;
  worker_id: string | null;
  waited: [number, number] | null;
  ran: [number, number] | null;
  at: string | null;
}

/** Every attempt with the time it waited before it (since the task was submitted or the attempt before ended) and ran. */
function linesOf({ task, attempts }: TaskHistory, now: number): Line[] {
  let free = task ? Date.parse(task.created_at) : null;
  const lines: Line[] = attempts.map((run) => {
    const ran: [number, number] = [Date.parse(run.started_at), Date.parse(run.finished_at)];
    const waited: Line["waited"] = free === null ? null : [Math.min(free, ran[0]), ran[0]];
    free = ran[1];
    const { run_id, attempt, outcome, worker_id } = run;
    return {
      key: `${run_id}`,
      run_id,
      attempt,
      outcome,
      worker_id,
      waited,
      ran,
      at: run.finished_at,
    };
  });
  if (task === null || task.state === "failed") return lines;
  const claimed = task.claimed_at !== null && task.state === "claimed";
  const begun = claimed && task.claimed_at ? Date.parse(task.claimed_at) : null;
  lines.push({
    key: "now",
    run_id: null,
    worker_id: task.worker_id,
    attempt: claimed ? task.attempt : task.attempt + 1,
    outcome: claimed ? "running" : Date.parse(task.run_at) > now ? "delayed" : "pending",
    waited: free === null ? null : [free, begun ?? Math.max(now, free)],
    ran: begun === null ? null : [begun, Math.max(now, begun)],
    at: claimed ? task.claimed_at : task.run_at,
  });
  return lines;
}

interface TimelineProps {
  history: TaskHistory;
  /** The run that is shown below; "" is the attempt of the moment. */
  shown: string;
  onShow: (run_id: number | null) => void;
}

/** The attempts of a task below each other, on one scale of time: grey is waiting, coloured is running. */
export function Timeline({ history, shown, onShow }: TimelineProps) {
  const lines = linesOf(history, useNow());
  const moments = lines.flatMap(({ waited, ran }) => [...(waited ?? []), ...(ran ?? [])]);
  const from = Math.min(...moments);
  const span = Math.max(1, Math.max(...moments) - from);
  const at = (ms: number) => ((ms - from) / span) * 100;
  const part = (bar: [number, number] | null, kind: string) =>
    bar && (
      <rect
        x={at(bar[0])}
        y={kind === "waited" ? 5 : 2}
        width={Math.max(0.6, at(bar[1]) - at(bar[0]))}
        height={kind === "waited" ? 2 : 8}
        className={kind}
      />
    );
  const rounds = roundsOf(lines);
  const list = (of: readonly Line[], label: string) => (
    <ol className="attempts" aria-label={label}>
      {of.map((line) => (
        <Attempt
          key={line.key}
          line={line}
          current={line.run_id === null ? shown === "" : String(line.run_id) === shown}
          onShow={onShow}
        >
          {part(line.waited, "waited")}
          {part(line.ran, `ran ${line.outcome}`)}
        </Attempt>
      ))}
    </ol>
  );
  if (rounds.length < 2) return list(lines, "Attempts");
  return rounds.map((round, i) => (
    <section key={round[0]?.key}>
      <Text size="xs" c="dimmed" component="h4" mb={4}>
        Round {i + 1}
        {i > 0 && ", after a retry"}
      </Text>
      {list(round, `Attempts of round ${i + 1}`)}
    </section>
  ));
}

interface AttemptProps {
  line: Line;
  current: boolean;
  onShow: (run_id: number | null) => void;
  /** Its bars. */
  children: ReactNode;
}

function Attempt({ line, current, onShow, children }: AttemptProps) {
  const waited = line.waited && durationText(line.waited[1] - line.waited[0]);
  const ran = line.ran && durationText(line.ran[1] - line.ran[0]);
  return (
    <li>
      <UnstyledButton
        className="attempt"
        aria-current={current || undefined}
        onClick={() => onShow(line.run_id)}
      >
        <Group gap="xs" justify="space-between">
          <Group gap="xs">
            <Text size="sm" fw={600}>
              Attempt {line.attempt}
            </Text>
            <Status value={line.outcome} />
            {line.worker_id && (
              <Text size="xs" c="dimmed" className="wrap">
                on {line.worker_id}
              </Text>
            )}
          </Group>
          <Text size="xs" c="dimmed">
            {waited && `waited ${waited}`}
            {waited && ran && ", "}
            {ran && `ran ${ran}`}
            {" · "}
            <Ago at={line.at} />
          </Text>
        </Group>
        <svg viewBox="0 0 100 12" preserveAspectRatio="none" aria-hidden="true">
          {children}
        </svg>
      </UnstyledButton>
    </li>
  );
}
