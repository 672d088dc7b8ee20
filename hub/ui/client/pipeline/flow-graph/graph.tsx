import { useComputedColorScheme } from "@mantine/core";
import {
  Background,
  Controls,
  type Edge,
  type NodeChange,
  ReactFlow,
  useNodesState,
} from "@xyflow/react";
import "@xyflow/react/dist/style.css";
import { type KeyboardEvent, useEffect, useMemo } from "react";
import { useLocation } from "wouter";
import type { FlowNode } from "#shared/protocol/schema/flow.ts";
import { edgeText, edgeWidth, hrefOf, KIND_NAMES, type Shown, type ShownEdge } from "./model.ts";
import { FlowBox, type GraphNode } from "./node.tsx";

export type Positions = Record<string, { x: number; y: number }>;

interface GraphProps {
  nodes: readonly FlowNode[];
  edges: readonly ShownEdge[];
  shownOf: (node: FlowNode) => Shown;
  /** Where nodes were dragged to and not saved yet. */
  moved: Positions;
  /** What was placed just now. */
  onMove: (placed: Positions) => void;
}

const TYPES = { flow: FlowBox };
const FIT = { padding: 0.15, maxZoom: 1.1 };
const PRO = { hideAttribution: true };

function graphEdge({ id, source, target, kind, ...edge }: ShownEdge): Edge {
  const text = edgeText({ id, source, target, kind, ...edge });
  return {
    id,
    source,
    target,
    // A rate of zero is not worth showing.
    label: edge.rate_per_min > 0 ? text : undefined,
    ariaLabel: `${source} to ${target}, ${kind} ${text}`,
    className: `flow-edge ${kind}`,
    style: {
      strokeWidth: edgeWidth(edge.rate_per_min),
      ...(edge.rate_per_min > 0 ? {} : { strokeDasharray: "4 4" }),
    },
    focusable: false,
  };
}

/** The flow graph: dragging places a node, Enter or a click opens its page, arrows move the chosen one. */
export function Graph({ nodes, edges, shownOf, moved, onMove }: GraphProps) {
  const [, navigate] = useLocation();
  const dark = useComputedColorScheme("light") === "dark";
  const [drawn, setDrawn, onNodesChange] = useNodesState<GraphNode>([]);
  useEffect(() => {
    setDrawn((before) => {
      const known = new Map(before.map((one) => [one.id, one]));
      return nodes.map((node): GraphNode => {
        const old = known.get(node.id);
        const shown = shownOf(node);
        return {
          // What the graph measured and chose; without it a box is hidden until it is measured again.
          ...old,
          id: node.id,
          type: "flow",
          data: { node, shown },
          position: old?.dragging ? old.position : (moved[node.id] ?? node.position),
          ariaLabel: `${KIND_NAMES[node.kind]} ${node.label}, ${shown.state}. ${shown.lines.join(". ")}`,
          domAttributes: { "aria-roledescription": "node, Enter opens its page" },
        };
      });
    });
  }, [nodes, shownOf, moved, setDrawn]);
  const lines = useMemo(() => edges.map(graphEdge), [edges]);
  // The end of a drag, and each step of an arrow key.
  const onChange = (changes: NodeChange<GraphNode>[]) => {
    onNodesChange(changes);
    const placed = changes.flatMap((change) =>
      change.type === "position" && change.dragging === false && change.position
        ? [[change.id, change.position] as const]
        : [],
    );
    if (placed.length > 0) onMove(Object.fromEntries(placed));
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== "Enter") return;
    const id = (event.target as HTMLElement).closest<HTMLElement>(".react-flow__node")?.dataset.id;
    const node = nodes.find((one) => one.id === id);
    if (node) navigate(hrefOf(node));
  };
  return (
    <section className="flow-graph" aria-label="Flow graph" onKeyDown={onKey}>
      <ReactFlow
        nodes={drawn}
        edges={lines}
        nodeTypes={TYPES}
        onNodesChange={onChange}
        onNodeClick={(_event, { data }) => navigate(hrefOf(data.node))}
        colorMode={dark ? "dark" : "light"}
        nodesConnectable={false}
        edgesFocusable={false}
        deleteKeyCode={null}
        selectNodesOnDrag={false}
        preventScrolling={false}
        zoomOnScroll={false}
        minZoom={0.1}
        fitView
        fitViewOptions={FIT}
        proOptions={PRO}
      >
        <Background gap={24} />
        <Controls showInteractive={false} fitViewOptions={FIT} />
      </ReactFlow>
    </section>
  );
}
