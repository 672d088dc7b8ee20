import { Anchor, Stack, Text, Title } from "@mantine/core";
import { Link } from "wouter";
import type { FlowNode } from "#shared/protocol/schema/flow.ts";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Clip } from "../../parts/text.tsx";
import { edgeText, hrefOf, KIND_NAMES, type Shown, type ShownEdge } from "./model.ts";

interface TablesProps {
  nodes: readonly FlowNode[];
  edges: readonly ShownEdge[];
  shownOf: (node: FlowNode) => Shown;
}

const EDGE_NAMES: Record<ShownEdge["kind"], string> = {
  submit: "submits to",
  emit: "emits to",
  claim: "is run by",
  executor: "has the code of",
};

/** What the graph shows, as text. */
export function FlowTables({ nodes, edges, shownOf }: TablesProps) {
  const labels = new Map(nodes.map((node) => [node.id, node]));
  const nodeColumns: Column<FlowNode>[] = [
    {
      key: "kind",
      title: "Kind",
      width: "100px",
      cell: ({ kind }) => KIND_NAMES[kind],
    },
    {
      key: "label",
      title: "Name",
      width: "minmax(100px, 2fr)",
      cell: (node) => (
        <Anchor component={Link} href={hrefOf(node)} size="sm" truncate display="block">
          {node.label}
        </Anchor>
      ),
    },
    {
      key: "state",
      title: "State",
      width: "120px",
      cell: (node) => shownOf(node).state,
    },
    {
      key: "numbers",
      title: "Numbers",
      width: "minmax(160px, 3fr)",
      from: "sm",
      cell: (node) => <Clip text={shownOf(node).lines.join("; ")} />,
    },
  ];
  const edgeColumns: Column<ShownEdge>[] = [
    {
      key: "source",
      title: "From",
      width: "minmax(90px, 2fr)",
      cell: ({ source }) => <Clip text={labels.get(source)?.label ?? source} />,
    },
    {
      key: "kind",
      title: "What",
      width: "minmax(80px, 1fr)",
      cell: ({ kind }) => EDGE_NAMES[kind],
    },
    {
      key: "target",
      title: "To",
      width: "minmax(90px, 2fr)",
      cell: ({ target }) => <Clip text={labels.get(target)?.label ?? target} />,
    },
    {
      key: "rate",
      title: "Rate",
      width: "96px",
      align: "end",
      cell: (edge) => edgeText(edge) || "–",
    },
  ];
  return (
    <Stack>
      <Title order={2} size="h4">
        Nodes
      </Title>
      <DataTable
        label="Nodes of the flow"
        columns={nodeColumns}
        rows={nodes}
        rowKey={({ id }) => id}
        href={hrefOf}
      />
      <Title order={2} size="h4">
        What flows between them
      </Title>
      {edges.length === 0 ? (
        <Text size="sm" c="dimmed">
          Nothing.
        </Text>
      ) : (
        <DataTable
          label="Edges of the flow"
          columns={edgeColumns}
          rows={edges}
          rowKey={({ id }) => id}
        />
      )}
    </Stack>
  );
}
