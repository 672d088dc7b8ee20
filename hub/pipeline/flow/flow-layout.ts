import type { PositionRow } from "#hub/platform/db/view-types.ts";
import type { FlowEdge, FlowNode } from "#shared/protocol/schema/flow.ts";

const COLUMN_PX = 320;
const ROW_PX = 130;

/** How many emitting workloads come before each node, at most; a circle is cut where it closes. */
function depthsOf(ids: readonly string[], edges: readonly FlowEdge[]): Map<string, number> {
  const before = new Map<string, string[]>();
  for (const { source, target, kind } of edges)
    if (kind === "emit") before.set(target, [...(before.get(target) ?? []), source]);
  const depths = new Map<string, number>();
  const depthOf = (id: string, path: ReadonlySet<string>): number => {
    const known = depths.get(id);
    if (known !== undefined) return known;
    if (path.has(id)) return 0;
    const next = new Set(path).add(id);
    const depth = Math.max(0, ...(before.get(id) ?? []).map((from) => depthOf(from, next) + 1));
    depths.set(id, depth);
    return depth;
  };
  for (const id of ids) depthOf(id, new Set());
  return depths;
}

/**
 * Puts every node where it was saved, and the others in columns: sources and plugins, workloads by what emits to them,
 * workers.
 */
export function placeNodes(
  nodes: readonly Omit<FlowNode, "position">[],
  edges: readonly FlowEdge[],
  saved: readonly PositionRow[],
): FlowNode[] {
  const at = new Map(saved.map(({ node_id, x, y }) => [node_id, { x, y }]));
  const depths = depthsOf(
    nodes.map(({ id }) => id),
    edges,
  );
  const deepest = Math.max(0, ...depths.values());
  const columnOf = ({ id, kind }: Omit<FlowNode, "position">) =>
    ({ source: 0, plugin: 0, workload: 1 + (depths.get(id) ?? 0), worker: deepest + 2 })[kind];
  const rows = new Map<number, number>();
  return nodes.map((node) => {
    const column = columnOf(node);
    const row = rows.get(column) ?? 0;
    rows.set(column, row + 1);
    return { ...node, position: at.get(node.id) ?? { x: column * COLUMN_PX, y: row * ROW_PX } };
  });
}
