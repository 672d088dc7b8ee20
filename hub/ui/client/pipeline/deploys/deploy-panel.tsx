import { Group, SimpleGrid, Stack, Text } from "@mantine/core";
import type { Deploy } from "#shared/protocol/schema/operations.ts";
import { durationText } from "../../lib/units.ts";
import { Copy } from "../../parts/copy.tsx";
import { LogView } from "../../parts/log-view.tsx";
import { Ago, Elapsed, Status } from "../../parts/text.tsx";

/** One deploy with what it printed, which grows while it runs. */
export function DeployPanel({ deploy }: { deploy: Deploy }) {
  const { state, exit_code, started_at, finished_at, duration_ms, error, log, args } = deploy;
  const facts = [
    ["State", <Status key="state" value={state} />],
    ["Exit code", exit_code ?? "–"],
    ["Started", <Ago key="started" at={started_at} />],
    [
      "Took",
      duration_ms === null ? (
        <Elapsed key="took" since={started_at} until={finished_at} />
      ) : (
        durationText(duration_ms)
      ),
    ],
  ] as const;
  return (
    <Stack gap="sm">
      <SimpleGrid cols={{ base: 2, xs: 4 }} spacing="sm" component="dl" m={0}>
        {facts.map(([name, value]) => (
          <div key={name}>
            <Text size="xs" c="dimmed" component="dt">
              {name}
            </Text>
            <Text size="sm" component="dd" m={0}>
              {value}
            </Text>
          </div>
        ))}
      </SimpleGrid>
      {args.length > 0 && (
        <Text size="sm" ff="monospace" className="wrap">
          {args.join(" ")}
        </Text>
      )}
      {error && (
        <Text size="sm" c="var(--mantine-color-error)" className="wrap" role="status">
          {error}
        </Text>
      )}
      <Group justify="space-between">
        <Text size="sm" c="dimmed">
          Output{state === "running" ? " so far" : ""}
        </Text>
        <Copy text={log} label="Copy the output" />
      </Group>
      <LogView
        label="Output of the deploy"
        lines={log === "" ? [] : log.replace(/\n$/, "").split("\n")}
        lineKey={(_, index) => index}
        height="60vh"
        follow={state === "running"}
      >
        {(line) => line || " "}
      </LogView>
    </Stack>
  );
}
