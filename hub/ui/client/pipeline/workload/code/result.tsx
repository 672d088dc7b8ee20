import { Alert, Code, Group, Stack, Text } from "@mantine/core";
import type { CheckRun, ExecutorCheck } from "#shared/protocol/schema/executor.ts";
import { durationText } from "../../../lib/units.ts";
import { Copy } from "../../../parts/copy.tsx";

const WORDS: Record<CheckRun["outcome"], string> = {
  success: "The task succeeded",
  error: "The task failed",
  timeout: "The task took too long",
  crashed: "The process of the task ended",
  snoozed: "The task asked to run later",
};

/** Text that a program wrote, open to its end. */
function Output({ title, text }: { title: string; text: string }) {
  if (text === "") return null;
  return (
    <div>
      <Group gap={4}>
        <Text size="sm" fw={500}>
          {title}
        </Text>
        <Copy text={text} label={`Copy: ${title}`} />
      </Group>
      <Code block className="wrap" mah={260} tabIndex={0} style={{ overflow: "auto" }}>
        {text}
      </Code>
    </div>
  );
}

function RunOutcome({ run }: { run: CheckRun }) {
  const log = run.log.map(({ level, text }) => `${level.padEnd(5)} ${text}`).join("\n");
  return (
    <>
      {run.error !== null && (
        <Text size="sm" className="wrap">
          {run.error}
        </Text>
      )}
      {run.outcome === "success" && (
        <Output title="Output" text={JSON.stringify(run.output, null, 2) ?? "null"} />
      )}
      <Output title={run.outcome === "success" ? "stderr" : "Traceback"} text={run.stderr} />
      <Output title="Log" text={log} />
      <Output title="stdout" text={run.stdout} />
      {run.truncated && (
        <Text size="sm" c="dimmed">
          Some of it was too long and is not shown.
        </Text>
      )}
    </>
  );
}

/** What a worker found when it tried code. */
export function CheckResult({ check }: { check: ExecutorCheck }) {
  const { state, run, worker_id, host, ms, error, trace } = check;
  const good = state === "ok" && (run ? run.outcome === "success" : error === null);
  const title =
    state !== "ok"
      ? "The code does not load"
      : run
        ? WORDS[run.outcome]
        : error === null
          ? "The code loads"
          : "The task was not run";
  const took = run ? `, ran for ${durationText(run.duration_ms)}` : "";
  return (
    <Alert color={good ? "teal" : "red"} title={title} role="status">
      <Stack gap="xs">
        <Text size="sm">
          On {worker_id}
          {host !== null && host !== worker_id ? ` (${host})` : ""}, loaded in{" "}
          {durationText(ms ?? 0)}
          {took}.
        </Text>
        {error !== null && (
          <Text size="sm" className="wrap">
            {error}
          </Text>
        )}
        <Output title="Traceback" text={trace ?? ""} />
        {run && <RunOutcome run={run} />}
      </Stack>
    </Alert>
  );
}
