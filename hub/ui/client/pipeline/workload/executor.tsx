import { Alert, Button, Code, Group, SimpleGrid, Stack, Text } from "@mantine/core";
import type { ExecutorCheck } from "#shared/protocol/schema/executor.ts";
import type { Workload } from "#shared/protocol/schema/workload.ts";
import { rulesOf } from "../../forms/rules-macro.ts" with { type: "macro" };
import { call } from "../../lib/http.ts";
import { useChange, useGet } from "../../lib/query.ts";
import { countText } from "../../lib/units.ts";
import { Copy } from "../../parts/copy.tsx";
import { Ago } from "../../parts/text.tsx";
import { useRestore } from "./code/versions.tsx";

/** How long a worker is waited for: it hears of the check with its next heartbeat, and then loads the code. */
const CHECK_S = Number(rulesOf("CheckExecutor").timeout_s.default);

const useCheck = (slug: string) =>
  useChange(
    () =>
      call("POST /api/v1/workloads/{slug}/check", {
        params: { slug },
        timeout_ms: (CHECK_S + 15) * 1_000,
        json: { timeout_s: CHECK_S },
      }),
    { failed: "The code was not checked" },
  );

/** What the last check found, in a sentence. */
const found = ({ state, worker_id, ms, error }: ExecutorCheck): string =>
  state === "ok" ? `It loads on ${worker_id}, in ${ms} ms.` : `On ${worker_id}: ${error}`;

/** The way back to the code that ran before, where there is some. */
function RollBack({ slug, version }: { slug: string; version: number }) {
  const restore = useRestore(slug);
  const list = useGet("/api/v1/workloads/{slug}/versions", {
    params: { slug },
    query: { limit: 20 },
  });
  const before = list.data?.versions.find((one) => one.version < version);
  if (!before) return null;
  return (
    <Button
      size="xs"
      variant="default"
      loading={restore.isPending}
      onClick={() => restore.mutate(before.version)}
    >
      {`Roll back to version ${before.version}`}
    </Button>
  );
}

interface ExecutorNoteProps {
  workload: Workload;
  /** Tasks that wait for it. */
  waiting: number | undefined;
  onEdit: () => void;
}

/** Says so when the code of the workload does not load, why, and what helps. */
export function ExecutorNote({ workload, waiting, onEdit }: ExecutorNoteProps) {
  const { slug, executor, executor_config } = workload;
  const check = useCheck(slug);
  if (executor.state === "ok") return null;
  const names = executor.workers.map(({ id }) => id).join(", ");
  const version = executor_config.code_version;
  return (
    <Alert color="red" title="Its code does not load" role="status">
      <SimpleGrid cols={{ base: 1, md: executor.trace ? 2 : 1 }}>
        <Stack gap="xs" align="flex-start" miw={0}>
          <Text size="sm" className="wrap">
            {executor.error}
          </Text>
          <Text size="sm">
            {version !== undefined && `Version ${version}. `}On {names}, since{" "}
            <Ago at={executor.since} />.{" "}
            {waiting
              ? `${countText(waiting)} ${waiting === 1 ? "task waits and keeps its" : "tasks wait and keep their"} place; no attempt is lost.`
              : "Its tasks wait and lose no attempt."}{" "}
            A change is tried at once.
          </Text>
          <Group gap="sm">
            {version !== undefined && version > 1 && <RollBack slug={slug} version={version} />}
            {version !== undefined && (
              <Button size="xs" variant="default" onClick={onEdit}>
                Edit the code
              </Button>
            )}
            <Button
              size="xs"
              variant="default"
              loading={check.isPending}
              onClick={() => check.mutate(undefined)}
            >
              Load it again
            </Button>
            {executor.trace && <Copy text={executor.trace} label="Copy the traceback" />}
          </Group>
          {check.data && <Text size="sm">{found(check.data)}</Text>}
        </Stack>
        {executor.trace && (
          <Code block className="wrap" w="100%" mah={260} tabIndex={0} style={{ overflow: "auto" }}>
            {executor.trace}
          </Code>
        )}
      </SimpleGrid>
    </Alert>
  );
}
