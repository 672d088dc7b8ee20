import { Text } from "@mantine/core";
import { Link } from "wouter";
import type { Run } from "#shared/protocol/schema/queue.ts";
import { workloadHref } from "../../lib/links.ts";
import { useGet } from "../../lib/query.ts";
import { durationText } from "../../lib/units.ts";
import { Loadable } from "../../parts/states.tsx";
import { runLook } from "../../parts/status/run.ts";
import { StatusMark } from "../../parts/status-mark.tsx";
import { Ago, Clip } from "../../parts/text.tsx";

const SHOWN = 5;

/** How a workload's newest runs ended. Its caller keys it by the workload, so that it never shows those of another one. */
export function NewestRuns({ slug }: { slug: string }) {
  const query = useGet("/api/v1/workloads/{slug}/runs", {
    params: { slug },
    query: { limit: SHOWN, brief: true },
  });
  return (
    <Loadable query={query} lines={3}>
      {({ runs }) =>
        runs.length === 0 ? (
          <Text size="sm" c="dimmed">
            Nothing has run yet.
          </Text>
        ) : (
          <ul className="panel-list">
            {runs.map((run) => (
              <li key={run.run_id}>
                <RunLine run={run} />
              </li>
            ))}
          </ul>
        )
      }
    </Loadable>
  );
}

/** A run on two lines, with its error below them; it leads to the run on the page of its workload. */
function RunLine({ run }: { run: Run }) {
  const { run_id, workload, pk, outcome, duration_ms, finished_at, error } = run;
  return (
    <Link className="panel-run" href={workloadHref(workload, { run: String(run_id) })}>
      <StatusMark look={runLook(outcome)} value={outcome} />
      <Ago at={finished_at} />
      <Clip text={pk} mono />
      <span>{durationText(duration_ms)}</span>
      {error !== null && (
        <span className="panel-run-error">
          <Clip text={error.slice(0, 300)} />
        </span>
      )}
    </Link>
  );
}
