import { Badge, Group, SimpleGrid, Stack, Text, UnstyledButton } from "@mantine/core";
import { useState } from "react";
import type { Workload } from "#shared/protocol/schema/workload.ts";
import type { WorkloadVersion } from "#shared/protocol/schema/workload-code.ts";
import { call } from "../../../lib/http.ts";
import { useChange, useGet } from "../../../lib/query.ts";
import { bytesText } from "../../../lib/units.ts";
import { ConfirmButton } from "../../../parts/confirm.tsx";
import { Empty, Loadable } from "../../../parts/states.tsx";
import { Ago } from "../../../parts/text.tsx";
import { DiffView } from "./diff-view.tsx";

const LANGUAGE = { python_module: "Python", bun_module: "TypeScript" } as const;

/** Rolls a workload back to a version of its code. */
export function useRestore(slug: string) {
  return useChange(
    (version: number) =>
      call("POST /api/v1/workloads/{slug}/versions/{version}/restore", {
        params: { slug, version },
        json: {},
      }),
    {
      done: (_, version) => `${slug} runs the code of version ${version} again`,
      failed: "It was not rolled back",
    },
  );
}

function Row({ one, chosen, onChoose }: RowProps) {
  return (
    <UnstyledButton
      className="version-row"
      aria-pressed={chosen}
      data-chosen={chosen || undefined}
      onClick={onChoose}
    >
      <Group gap="xs">
        <Text size="sm" fw={600}>
          Version {one.version}
        </Text>
        {one.current && <Badge size="sm">runs now</Badge>}
        <Text size="xs" c="dimmed">
          <Ago at={one.created_at} />
        </Text>
      </Group>
      <Text size="xs" c="dimmed" className="wrap">
        {one.created_by} · {LANGUAGE[one.executor_type]} · {bytesText(one.bytes)}
        {one.restored_from !== null && ` · as version ${one.restored_from}`}
      </Text>
      {one.note !== "" && (
        <Text size="sm" className="wrap">
          {one.note}
        </Text>
      )}
    </UnstyledButton>
  );
}
interface RowProps {
  one: WorkloadVersion;
  chosen: boolean;
  onChoose: () => void;
}

/** A version beside the one that runs, and the way back to it. */
function Comparison({ slug, one, current }: ComparisonProps) {
  const restore = useRestore(slug);
  const from = useGet("/api/v1/workloads/{slug}/versions/{version}", {
    params: { slug, version: current?.version ?? one.version },
  });
  const to = useGet("/api/v1/workloads/{slug}/versions/{version}", {
    params: { slug, version: one.version },
  });
  const loaded =
    from.data?.version === (current?.version ?? one.version) && to.data?.version === one.version;
  return (
    <Stack gap="sm" miw={0}>
      <Group justify="space-between">
        <Text size="sm" fw={500}>
          {one.current
            ? `Version ${one.version} runs now`
            : `From what runs now to version ${one.version}`}
        </Text>
        {!one.current && (
          <ConfirmButton
            question={`Roll ${slug} back to version ${one.version}?`}
            text="Its code becomes the newest version, and the next task runs it. Nothing is lost: the version that runs now stays in this list."
            confirm="Roll back"
            loading={restore.isPending}
            onConfirm={() => restore.mutate(one.version)}
          >
            {`Roll back to version ${one.version}`}
          </ConfirmButton>
        )}
      </Group>
      {loaded && from.data && to.data && (
        <DiffView before={one.current ? "" : from.data.code} after={to.data.code} />
      )}
    </Stack>
  );
}
interface ComparisonProps {
  slug: string;
  one: WorkloadVersion;
  current: WorkloadVersion | undefined;
}

/** Every version of a workload's code: who made it and when, what it changes, and the way back. */
export function Versions({ workload }: { workload: Workload }) {
  const { slug } = workload;
  const [chosen, setChosen] = useState<number | null>(null);
  const list = useGet("/api/v1/workloads/{slug}/versions", {
    params: { slug },
    query: { limit: 100 },
  });
  return (
    <Loadable query={list}>
      {({ versions }) => {
        const current = versions.find((one) => one.current);
        const shown = versions.find(({ version }) => version === chosen) ?? versions[0];
        if (!shown)
          return (
            <Empty title="Its code has no versions">
              A version is made each time that code is saved in the tab Code.
            </Empty>
          );
        return (
          <SimpleGrid cols={{ base: 1, md: 2 }} className="versions">
            <Stack gap={0} role="group" aria-label="Versions">
              {versions.map((one) => (
                <Row
                  key={one.version}
                  one={one}
                  chosen={one === shown}
                  onChoose={() => setChosen(one.version)}
                />
              ))}
            </Stack>
            <Comparison slug={slug} one={shown} current={current} />
          </SimpleGrid>
        );
      }}
    </Loadable>
  );
}
