import { Alert, Button, Group, Stack, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import type { ExecutorCheck } from "#shared/protocol/schema/executor.ts";
import { errorText, useChange } from "../../../lib/query.ts";
import { objectIn } from "../form/draft.ts";
import { CheckResult } from "./result.tsx";

export interface TestTask {
  pk: string;
  extra: Record<string, unknown> | null;
}

/** Longer than the server waits for its worker. */
export const CHECK_CALL_MS = 75_000;

const extraIn = (text: string): TestTask["extra"] => (text.trim() === "" ? null : objectIn(text));

/** One task, and what became of it on a worker: in no queue, and no run is recorded. */
export function useTestRun(test: (task: TestTask) => Promise<ExecutorCheck>) {
  const [pk, setPk] = useState("first");
  const [extra, setExtra] = useState("");
  const [fault, setFault] = useState("");
  const check = useChange(test, { failed: "The test did not run", quiet: true });
  const run = () => {
    if (check.isPending) return;
    try {
      const task = { pk: pk.trim() === "" ? "test" : pk, extra: extraIn(extra) };
      setFault("");
      check.mutate(task);
    } catch (err) {
      setFault((err as Error).message);
    }
  };
  return { pk, setPk, extra, setExtra, fault, check, run };
}

interface TestPanelProps {
  state: ReturnType<typeof useTestRun>;
  /** What the button says. */
  verb?: string;
}

export function TestPanel({ state, verb = "Test" }: TestPanelProps) {
  const { pk, setPk, extra, setExtra, fault, check, run } = state;
  return (
    <Stack gap="sm">
      <Group align="start" wrap="wrap">
        <TextInput
          label="Task to test with"
          description="Its key"
          value={pk}
          onChange={(event) => setPk(event.currentTarget.value)}
        />
        <TextInput
          label="Its extra"
          description="A JSON object, or nothing"
          placeholder='{"name": "Ada"}'
          flex={1}
          miw={200}
          spellCheck={false}
          error={fault || undefined}
          styles={{ input: { fontFamily: "var(--mono)" } }}
          value={extra}
          onChange={(event) => setExtra(event.currentTarget.value)}
        />
      </Group>
      <Group>
        <Button variant="default" loading={check.isPending} onClick={run}>
          {verb}
        </Button>
        <Text size="sm" c="dimmed">
          {check.isPending ? "A worker loads it and runs the task." : "Nothing is saved or queued."}
        </Text>
      </Group>
      {check.error && (
        <Alert color="red" title="It could not be tested" role="status">
          <Text size="sm" className="wrap">
            {errorText(check.error)}
          </Text>
        </Alert>
      )}
      {check.data && !check.isPending && <CheckResult check={check.data} />}
    </Stack>
  );
}
