import { Anchor } from "@mantine/core";
import { Link } from "wouter";
import type { DashboardOverview } from "#shared/protocol/schema/flow.ts";
import { useGet } from "../lib/query.ts";
import { Empty } from "../parts/states.tsx";
import { MINUTES, statesOf } from "../pipeline/overview/problems.ts";
import { StateTable } from "../pipeline/overview/state-table.tsx";
import { Totals } from "../pipeline/overview/totals.tsx";
import { useShown } from "../pipeline/run/address.ts";
import { RunTable } from "../pipeline/run/run-table.tsx";
import { RunDrawer } from "../pipeline/run/shown-run.tsx";
import { useUnserved } from "../pipeline/workload/use-seen.ts";
import { createCommand } from "../pipeline/workloads/examples.ts";
import { Card } from "./card.tsx";
import { runsHref } from "./links.ts";
import { ProblemList } from "./problem-list.tsx";
import { problemsOf } from "./problems.ts";

const FAILURES = 10;

/** Of a server that has the pipeline alone. */
export function PipelineHalf({ overview }: { overview: DashboardOverview }) {
  const summary = useGet("/api/v1/dashboard/workloads-runs-summary");
  const rates = useGet("/api/v1/flow/rates", { query: { since_min: MINUTES } });
  const { showRun } = useShown();
  const states = statesOf(overview, summary.data, rates.data, useUnserved());
  if (states.length === 0)
    return (
      <Empty title="There is no workload yet" command={createCommand()}>
        A workload is a queue of tasks and what runs them. Make one:
      </Empty>
    );
  const failures = overview.recent_failures.slice(0, FAILURES);
  return (
    <div className="home">
      <ProblemList problems={problemsOf([], overview, states)} />
      <Totals states={states} />
      <Card title="Workloads">
        <StateTable label="Workloads" rows={states} />
      </Card>
      <Card title="Recent failures">
        {failures.length === 0 ? (
          <p className="home-none">None in the last day.</p>
        ) : (
          <>
            <RunTable label="Recent failures" runs={failures} onOpen={showRun} />
            <Anchor component={Link} href="/ui/pipelines/failures" size="sm" mr="md">
              Failures grouped
            </Anchor>
            <Anchor component={Link} href={runsHref({ outcome: "failed" })} size="sm">
              Every failure
            </Anchor>
          </>
        )}
      </Card>
      <RunDrawer />
    </div>
  );
}
