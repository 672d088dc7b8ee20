import { Group, Text, UnstyledButton } from "@mantine/core";
import type { ReactNode } from "react";
import type { TaskHistory } from "#shared/protocol/schema/queue.ts";
import { useNow } from "../../lib/now.ts";
import { durationText } from "../../lib/units.ts";
import { StatusMark } from "../../parts/status-mark.tsx";
import { Ago } from "../../parts/text.tsx";
import { type AttemptLine, linesOf, ranMs } from "./attempt-lines.ts";
import { roundsOf } from "./rounds.ts";

interface TimelineProps {
  history: TaskHistory;
  /** The run that is shown below; "" is the attempt of the moment. */
  shown: string;
  onShow: (run_id: number | null) => void;
}

/** The attempts of a task below each other, on one scale of time: grey is waiting, coloured is from the claim to the report. */
export function Timeline({ history, shown, onShow }: TimelineProps) {
  const lines = linesOf(history, useNow());
  const moments = lines.flatMap(({ waited, held }) => [...(waited ?? []), ...(held ?? [])]);
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
      >
        <title>
          {kind === "waited" ? "Waited" : "From claim to report"}: {durationText(bar[1] - bar[0])}
        </title>
      </rect>
    );
  const rounds = roundsOf(lines);
  const list = (of: readonly AttemptLine[], label: string) => (
    <ol className="attempts" aria-label={label}>
      {of.map((line) => (
        <Attempt
          key={line.key}
          line={line}
          current={line.run_id === null ? shown === "" : String(line.run_id) === shown}
          onShow={onShow}
        >
          {part(line.waited, "waited")}
          {part(line.held, `ran ${line.outcome}`)}
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
  line: AttemptLine;
  current: boolean;
  onShow: (run_id: number | null) => void;
  /** Its bars. */
  children: ReactNode;
}

function Attempt({ line, current, onShow, children }: AttemptProps) {
  const waited = line.waited && durationText(line.waited[1] - line.waited[0]);
  const ran_ms = ranMs(line);
  const ran = ran_ms === null ? null : durationText(ran_ms);
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
            <StatusMark look={line.look} />
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
