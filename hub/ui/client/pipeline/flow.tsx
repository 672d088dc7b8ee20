import { Button, Group, SegmentedControl, Text, TextInput } from "@mantine/core";
import { useCallback, useMemo, useState } from "react";
import type { FlowNode } from "#shared/protocol/schema/flow.ts";
import { useFilters } from "../lib/filters.ts";
import { call } from "../lib/http.ts";
import { useNow } from "../lib/now.ts";
import { useChange, useGet } from "../lib/query.ts";
import { ConfirmButton } from "../parts/confirm.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Empty, Loadable } from "../parts/states.tsx";
import { Graph, type Positions } from "./flow-graph/graph.tsx";
import {
  edgesThen,
  filterNodes,
  frameAt,
  type ShownEdge,
  shownNow,
  shownThen,
} from "./flow-graph/model.ts";
import { MINUTE_MS, Scrubber } from "./flow-graph/scrubber.tsx";
import { FlowTables } from "./flow-graph/tables.tsx";
import { useSeen } from "./workload/use-seen.ts";

const MOST_MIN = 2_880;
const minuteOf = (ms: number) => Math.floor(ms / MINUTE_MS) * MINUTE_MS;

/** The minute in the address: "2026-01-01T12:34Z". */
const minuteText = (at: number) => `${new Date(at).toISOString().slice(0, 16)}Z`;

function LayoutButtons({ moved, onDone }: { moved: Positions; onDone: () => void }) {
  const save = useChange(() => call("POST /api/v1/flow/layout", { json: { positions: moved } }), {
    done: "The layout is saved for everybody",
    failed: "The layout was not saved",
    onDone,
  });
  const reset = useChange(() => call("DELETE /api/v1/flow/layout"), {
    done: "Every node is where the automatic layout puts it",
    failed: "The layout was not reset",
    onDone,
  });
  const count = Object.keys(moved).length;
  return (
    <>
      {count > 0 && (
        <>
          <Text size="sm" c="dimmed">
            {count} moved
          </Text>
          <Button size="xs" loading={save.isPending} onClick={() => save.mutate(undefined)}>
            Save layout
          </Button>
          <Button size="xs" variant="default" onClick={onDone}>
            Put back
          </Button>
        </>
      )}
      <ConfirmButton
        size="xs"
        question="Reset the layout?"
        text="Every saved position is forgotten, for everybody; the nodes return to columns."
        confirm="Reset it"
        loading={reset.isPending}
        onConfirm={() => reset.mutate(undefined)}
      >
        Reset layout
      </ConfirmButton>
    </>
  );
}

export function Page() {
  // On a phone the graph is too small to be read before it is zoomed.
  const view = window.matchMedia("(min-width: 768px)").matches ? "graph" : "table";
  const [filters, set] = useFilters({ q: "", view, at: "", range: "60" });
  const [moved, setMoved] = useState<Positions>({});
  const snapshot = useGet("/api/v1/flow/snapshot");
  const last = minuteOf(useNow()) - MINUTE_MS;
  const asked = Date.parse(filters.at);
  const at = Number.isNaN(asked) ? null : Math.min(minuteOf(asked), last);
  // A link to an older minute than its range shows has a range that reaches there.
  const reach = at === null ? 0 : (last - at) / MINUTE_MS + 1;
  const range_min = Math.min(MOST_MIN, Math.max(Number(filters.range) || 60, reach));
  const rates = useGet(
    "/api/v1/flow/rates",
    { query: { since_min: Math.min(MOST_MIN, range_min + 1) } },
    { enabled: at !== null, staleTime: 30_000 },
  );
  const frame = useMemo(
    () => (at === null || !rates.data ? null : frameAt(rates.data, at)),
    [rates.data, at],
  );
  const { overview, summary, workers } = useSeen();
  const shownOf = useCallback(
    (node: FlowNode) =>
      frame ? shownThen(node, frame) : shownNow(node, { overview, summary, workers }),
    [frame, overview, summary, workers],
  );
  const { nodes, edges } = useMemo(() => {
    const data = snapshot.data ?? { nodes: [], edges: [] };
    const shown = filterNodes(data.nodes, data.edges, filters.q);
    const ids = new Set(shown.map(({ id }) => id));
    const rated: ShownEdge[] = frame
      ? edgesThen(data.edges, frame)
      : data.edges.map((edge) => ({ ...edge, exact: true }));
    return {
      nodes: shown,
      edges: rated.filter(({ source, target }) => ids.has(source) && ids.has(target)),
    };
  }, [snapshot.data, filters.q, frame]);
  const note =
    at === null
      ? "Rates are averages over the last 5 minutes. Drag to place, click to open."
      : "Events of one minute. Nodes are the current ones; the past of workers and sources is not kept. ≤: shared with other edges.";
  return (
    <>
      <PageHead title="Flow" note={note}>
        <LayoutButtons moved={moved} onDone={() => setMoved({})} />
      </PageHead>
      <Loadable query={snapshot}>
        {(data) =>
          data.nodes.length === 0 ? (
            <Empty
              title="Nothing flows yet"
              command={`curl -s ${location.origin}/api/v1/workloads -H 'content-type: application/json' -d '{"slug": "hello", "executor_type": "command", "executor_config": {"argv": ["true"]}}'`}
            >
              The graph has a node for every source, workload, plugin and worker. Create a workload.
            </Empty>
          ) : (
            <>
              <Group mb="sm" gap="xs">
                <TextInput
                  data-filter
                  aria-label="Filter nodes"
                  placeholder="Name of a node"
                  value={filters.q}
                  onChange={(event) => set({ q: event.currentTarget.value })}
                  w={{ base: "100%", xs: 240 }}
                />
                <SegmentedControl
                  aria-label="How it is shown"
                  data={[
                    { value: "graph", label: "Graph" },
                    { value: "table", label: "Table" },
                  ]}
                  value={filters.view}
                  onChange={(view) => set({ view })}
                />
              </Group>
              <Scrubber
                range_min={range_min}
                last={last}
                at={at}
                onRange={(minutes) => set({ range: String(minutes) })}
                onGo={(to) => set({ at: to === null ? "" : minuteText(to) })}
              />
              {nodes.length === 0 ? (
                <Empty title="No node has this name">Change the filter above.</Empty>
              ) : filters.view === "table" ? (
                <FlowTables nodes={nodes} edges={edges} shownOf={shownOf} />
              ) : (
                <Graph
                  key={filters.q}
                  nodes={nodes}
                  edges={edges}
                  shownOf={shownOf}
                  moved={moved}
                  onMove={(placed) => setMoved((before) => ({ ...before, ...placed }))}
                />
              )}
            </>
          )
        }
      </Loadable>
    </>
  );
}
