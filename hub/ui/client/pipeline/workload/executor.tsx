import { Alert, Button, Code, Group, Stack, Text } from "@mantine/core";
import type { ExecutorCheck } from "#shared/protocol/schema/executor.ts";
import type { Workload } from "#shared/protocol/schema/workload.ts";
import { rulesOf } from "../../forms/rules-macro.ts" with { type: "macro" };
import { call } from "../../lib/http.ts";
import { useChange } from "../../lib/query.ts";
import { Ago } from "../../parts/text.tsx";

/** How long a worker is waited for: it hears of the check with its next heartbeat, and then loads the code. */
const CHECK_S = Number(rulesOf("CheckExecutor").timeout_s.default);

const useCheck = (slug: string) =>
  useChange(
    () =>
      call("POST /api/v1/workloads/{slug}/check", {
        params: { slug },
        json: { timeout_s: CHECK_S },
      }),
    { failed: "The code was not checked" },
  );

/** What the last check found, in a sentence. */
const found = ({ state, worker_id, ms, error }: ExecutorCheck): string =>
  state === "ok" ? `It loads on ${worker_id}, in ${ms} ms.` : `On ${worker_id}: ${error}`;

/** Says so when the code of the workload does not load; has a worker load it again at the press of a button. */
export function ExecutorNote({ workload: { slug, executor } }: { workload: Workload }) {
  const check = useCheck(slug);
  if (executor.state === "ok") return null;
  const names = executor.workers.map(({ id }) => id).join(", ");
  return (
    <Alert color="red" title="Its code does not load" role="status">
      <Stack gap="xs" align="flex-start">
        <Text size="sm" className="wrap">
          {executor.error}
        </Text>
        <Text size="sm">
          On {names}, since <Ago at={executor.since} />. Its tasks wait and lose no attempt; a
          change to the settings or the plugin is tried at once.
        </Text>
        {executor.trace && (
          <Code block className="wrap" w="100%" mah={220} tabIndex={0} style={{ overflow: "auto" }}>
            {executor.trace}
          </Code>
        )}
        <Group gap="sm">
          <Button size="xs" loading={check.isPending} onClick={() => check.mutate(undefined)}>
            Load it again
          </Button>
          {check.data && <Text size="sm">{found(check.data)}</Text>}
        </Group>
      </Stack>
    </Alert>
  );
}
