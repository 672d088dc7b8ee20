import { Card, Group, NumberInput, Stack, Text, Title } from "@mantine/core";
import { useState } from "react";
import type { Agent } from "#shared/protocol/schema/agent.ts";
import { info } from "../../lib/info.ts";
import { ConfirmButton } from "../../parts/confirm.tsx";
import { Ago, Status } from "../../parts/text.tsx";
import { Gpus } from "../pull-worker/facts.tsx";
import { useStop } from "./instances.tsx";

/** Stops the newest instances of a host. */
function StopNewest({ host, most }: { host: string; most: number }) {
  const [count, setCount] = useState<number | string>(1);
  const stop = useStop();
  const n = Math.min(most, Number(count) || 1);
  return (
    <Group gap="xs" align="flex-end">
      <NumberInput
        size="xs"
        w={90}
        label="How many"
        aria-label={`How many instances of ${host} to stop`}
        min={1}
        max={most}
        allowDecimal={false}
        value={count}
        onChange={setCount}
      />
      <ConfirmButton
        size="xs"
        question={`Stop the ${n} newest on ${host}?`}
        text="They take no new tasks, finish what they run, and are not restarted."
        confirm={`Stop ${n}`}
        loading={stop.isPending}
        onConfirm={() => stop.mutate({ host, count: n })}
      >
        Stop the newest
      </ConfirmButton>
    </Group>
  );
}

/** A host with an agent: what should run there, and what the agent reported. */
export function AgentCard({
  agent: { host, state, desired, report, last_seen_at },
}: {
  agent: Agent;
}) {
  const running = (report?.children ?? []).filter((child) => child.state === "running").length;
  const restarts = (report?.children ?? []).reduce((n, child) => n + child.restarts, 0);
  const version = report?.version ?? "";
  return (
    <Card withBorder padding="sm" component="section" aria-label={`Agent of ${host}`}>
      <Stack gap="xs">
        <Group justify="space-between" wrap="nowrap">
          <Title order={3} size="h5" className="wrap">
            {host}
          </Title>
          <Status value={state} />
        </Group>
        <Text size="sm">
          {running} of {desired.instances.length} running
          {restarts > 0 && `, restarted ${restarts === 1 ? "once" : `${restarts} times`}`}
        </Text>
        <Text size="xs" c="dimmed" component="div">
          Last seen <Ago at={last_seen_at} />
          {version && `, version ${version}`}
          {version !== "" && version !== info.version && `, the server has ${info.version}`}
        </Text>
        <Gpus gpus={report?.gpus ?? []} />
        {desired.instances.length > 0 && <StopNewest host={host} most={desired.instances.length} />}
      </Stack>
    </Card>
  );
}
