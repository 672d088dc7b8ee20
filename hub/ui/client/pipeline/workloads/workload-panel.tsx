import { Alert, Anchor, Button, SimpleGrid, Stack, Text } from "@mantine/core";
import { Link } from "wouter";
import type { DashboardOverview } from "#shared/protocol/schema/flow.ts";
import type { Workload } from "#shared/protocol/schema/workload.ts";
import { pluginHref, workloadHref } from "../../lib/links.ts";
import { countText } from "../../lib/units.ts";
import { Copy } from "../../parts/copy.tsx";
import { Fact, FactList } from "../../parts/facts.tsx";
import { Moment, PanelActions, PanelPart } from "../../parts/panel-parts.tsx";
import type { Look } from "../../parts/status/look.ts";
import { StatusMark } from "../../parts/status-mark.tsx";
import { Ago } from "../../parts/text.tsx";
import { LastRuns } from "../overview/state-table.tsx";
import { Total } from "../overview/totals.tsx";
import { NewestRuns } from "./newest-runs.tsx";

interface WorkloadPanelProps {
  workload: Workload;
  /** Its state, as the list has it. */
  look: Look;
  /** Its queue; undefined until it is read. */
  depth: DashboardOverview["queue_depths"][number] | undefined;
  /** Whether each of the last 20 runs succeeded, the newest last. */
  runs: readonly boolean[];
  /** Of these runs, 0 to 1; null without any. */
  rate: number | null;
}

/** A workload beside its list: why it does not run, what waits, runs and failed, and its newest runs. */
export function WorkloadPanel({ workload, look, depth, runs, rate }: WorkloadPanelProps) {
  const { slug, description } = workload;
  const failed = depth?.failed ?? 0;
  return (
    <Stack gap="md">
      <PanelActions
        state={<StatusMark look={look} chip />}
        href={workloadHref(slug)}
        open="Open workload"
      >
        {failed > 0 && (
          <Button component={Link} href={workloadHref(slug, { tab: "failed" })} variant="default">
            Show failed tasks
          </Button>
        )}
      </PanelActions>
      <Broken executor={workload.executor} />
      {description !== "" && (
        <Text size="sm" className="wrap">
          {description}
        </Text>
      )}
      <SimpleGrid cols={3} spacing="xs">
        <Total name="Pending" value={countText(depth?.pending)} />
        <Total name="Running" value={countText(depth?.claimed)} />
        <Total name="Failed" value={countText(depth?.failed)} />
      </SimpleGrid>
      <Facts workload={workload} runs={runs} rate={rate} />
      <PanelPart title="Newest runs">
        <NewestRuns key={slug} slug={slug} />
      </PanelPart>
    </Stack>
  );
}

/** Why its code does not load, on which workers, and since when. */
function Broken({ executor }: Pick<Workload, "executor">) {
  const { state, error, trace, since, workers } = executor;
  if (state === "ok") return null;
  return (
    <Alert color="red" title="Its code does not load" role="status">
      <Text size="sm" className="wrap">
        {error}
      </Text>
      <Text size="sm">
        On {workers.map(({ id }) => id).join(", ")}, since <Ago at={since} />. Its tasks wait and
        lose no attempt.
      </Text>
      {trace && <Copy text={trace} label="Copy the traceback" />}
    </Alert>
  );
}

function Facts({ workload, runs, rate }: Pick<WorkloadPanelProps, "workload" | "runs" | "rate">) {
  const { slug, name, executor_type, executor_config, schedule, enabled } = workload;
  const { code_version, plugin } = executor_config;
  const type = executor_type.replace("_", " ");
  return (
    <FactList label="Workload">
      {name !== slug && <Fact name="Name">{name}</Fact>}
      <Fact name="Executor">
        {code_version === undefined ? type : `${type} · version ${code_version}`}
      </Fact>
      {plugin !== undefined && (
        <Fact name="Plugin">
          <Anchor component={Link} href={pluginHref(plugin)} size="sm">
            {plugin}
          </Anchor>
        </Fact>
      )}
      {schedule !== null && (
        <>
          <Fact name="Schedule">
            {schedule} {workload.schedule_tz}
          </Fact>
          <Fact name="Next">
            {enabled ? <Moment at={workload.next_times[0]} /> : "not while the workload is off"}
          </Fact>
        </>
      )}
      <Fact name="Supervised">{workload.supervisor_enabled ? "yes" : "no"}</Fact>
      <Fact name="Last 20 runs">
        <LastRuns runs={runs} rate={rate} />
      </Fact>
    </FactList>
  );
}
