import { Text } from "@mantine/core";
import {
  IconPlug,
  IconServer,
  IconStack2,
  IconWorldUpload,
  type TablerIcon,
} from "@tabler/icons-react";
import { Handle, type Node, type NodeProps, Position } from "@xyflow/react";
import type { FlowNode } from "#shared/protocol/schema/flow.ts";
import type { Shown } from "./model.ts";

interface NodeData extends Record<string, unknown> {
  node: FlowNode;
  shown: Shown;
}
export type GraphNode = Node<NodeData, "flow">;

const ICONS: Record<FlowNode["kind"], TablerIcon> = {
  source: IconWorldUpload,
  workload: IconStack2,
  worker: IconServer,
  plugin: IconPlug,
};

/** One box of the graph. */
export function FlowBox({ data: { node, shown } }: NodeProps<GraphNode>) {
  const Icon = ICONS[node.kind];
  return (
    <div className="flow-box" data-health={shown.health}>
      <Handle type="target" position={Position.Left} isConnectable={false} />
      <div className="flow-box-head">
        <Icon size={16} aria-hidden />
        <Text size="sm" fw={600} truncate title={node.label}>
          {node.label}
        </Text>
        <span className="flow-state">{shown.state}</span>
      </div>
      {shown.lines.map((line) => (
        <Text key={line} size="xs" c="dimmed" truncate title={line}>
          {line}
        </Text>
      ))}
      <Handle type="source" position={Position.Right} isConnectable={false} />
    </div>
  );
}
