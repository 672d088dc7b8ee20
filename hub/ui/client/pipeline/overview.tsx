import { Anchor, Badge, Button, Group, Stack, Text, Title } from "@mantine/core";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { workloadHref } from "../lib/links.ts";
import { useGet } from "../lib/query.ts";
import { PageHead } from "../parts/page-head.tsx";
import { Empty, Loadable } from "../parts/states.tsx";
import { UpdatesBanner } from "../parts/updates/banner.tsx";
import { MINUTES, statesOf } from "./overview/problems.ts";
import { StateTable } from "./overview/state-table.tsx";
import { Totals } from "./overview/totals.tsx";
import { useShown } from "./run/address.ts";
import { RunDrawer } from "./run/drawer.tsx";
import { RunTable } from "./run/run-table.tsx";
import { createCommand } from "./workloads/examples.ts";

function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Stack component="section" gap="xs" aria-label={title}>
      <Title order={2} size="h4">
        {title}
      </Title>
      {children}
    </Stack>
  );
}

const Quiet = ({ children }: { children: string }) => (
  <Text size="sm" c="dimmed">
    {children}
  </Text>
);

/** What needs attention, then a summary of the rest of the pipeline. */
export function Page() {
  const overview = useGet("/api/v1/dashboard/overview");
  const summary = useGet("/api/v1/dashboard/workloads-runs-summary");
  const rates = useGet("/api/v1/flow/rates", { query: { since_min: MINUTES } });
  const { showRun } = useShown();
  return (
    <>
      <PageHead title="Home">
        <Button component={Link} href="/ui/pipelines?create=command" variant="default">
          Create a workload
        </Button>
      </PageHead>
      <UpdatesBanner alarms />
      <Loadable query={overview} lines={12}>
        {(data) => {
          const states = statesOf(data, summary.data, rates.data);
          const wrong = states.filter(({ weight }) => weight > 0);
          if (states.length === 0)
            return (
              <Empty title="There is no workload yet" command={createCommand()}>
                A workload is a queue of tasks and what runs them. The button above creates one, or:
              </Empty>
            );
          return (
            <Stack gap="lg">
              <Section title={wrong.length === 0 ? "No problems" : `Problems (${wrong.length})`}>
                {wrong.length === 0 ? (
                  <Quiet>
                    Nothing is paused, no lease expired in the last hour, and no task waits long.
                  </Quiet>
                ) : (
                  <StateTable label="Workloads with problems" rows={wrong} wrong />
                )}
              </Section>
              <Totals states={states} />
              <Section title="Running now">
                {data.running.length === 0 ? (
                  <Quiet>No task runs.</Quiet>
                ) : (
                  <Group gap="xs">
                    {data.running.map(({ workload, claimed, workers }) => (
                      <Badge key={workload} variant="light" size="lg" className="status" tt="none">
                        <Anchor
                          component={Link}
                          href={workloadHref(workload, { tab: "claimed" })}
                          inherit
                          c="inherit"
                        >
                          {workload}: {claimed} on {workers} {workers === 1 ? "worker" : "workers"}
                        </Anchor>
                      </Badge>
                    ))}
                  </Group>
                )}
              </Section>
              <Section title="Workloads">
                <StateTable label="Workloads" rows={states} />
              </Section>
              <Section title="Recent failures">
                {data.recent_failures.length === 0 ? (
                  <Quiet>None in the last day.</Quiet>
                ) : (
                  <>
                    <RunTable
                      label="Recent failures"
                      runs={data.recent_failures.slice(0, 10)}
                      onOpen={showRun}
                    />
                    <Anchor component={Link} href="/ui/pipelines/runs?outcome=failed" size="sm">
                      Every failure
                    </Anchor>
                  </>
                )}
              </Section>
            </Stack>
          );
        }}
      </Loadable>
      <RunDrawer />
    </>
  );
}
