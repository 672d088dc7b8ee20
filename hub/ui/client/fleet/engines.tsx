import { Badge, Button, Group } from "@mantine/core";
import type { Engine } from "#shared/protocol/schema/engine.ts";
import { call } from "../lib/http.ts";
import { useChange, useGet } from "../lib/query.ts";
import { durationText } from "../lib/units.ts";
import type { Column } from "../parts/data-table.tsx";
import { Ago, Clip } from "../parts/text.tsx";
import { EngineForm } from "./registry/engine-form.tsx";
import { RegistryPage } from "./registry/registry-page.tsx";

const EXAMPLE = `curl -X PUT ${location.origin}/engines/local -H 'content-type: application/json' \\
  -d '{"endpoint":"http://127.0.0.1:11434","model":"qwen3:8b","use_for_codegen":true}'`;

function Promote({ engine }: { engine: Engine }) {
  const promote = useChange(
    () => call("POST /engines/{slug}/promote", { params: { slug: engine.slug } }),
    {
      done: `${engine.slug} is now the promoted engine`,
      failed: "The engine was not promoted",
    },
  );
  if (engine.promoted)
    return (
      <Badge variant="light" color="teal" className="status">
        Promoted
      </Badge>
    );
  return (
    <Button
      size="compact-xs"
      variant="default"
      loading={promote.isPending}
      onClick={() => promote.mutate(undefined)}
      aria-label={`Promote ${engine.slug}`}
    >
      Promote
    </Button>
  );
}

const usesOf = ({ use_for_codegen, supports_tools }: Engine) =>
  [use_for_codegen && "scripts", supports_tools && "tools"].filter(Boolean).join(", ") || "–";

const COLUMNS: Column<Engine>[] = [
  {
    key: "slug",
    title: "Slug",
    width: "minmax(120px, 1fr)",
    cell: ({ slug }) => <Clip text={slug} mono />,
  },
  {
    key: "name",
    title: "Name",
    width: "minmax(110px, 1fr)",
    from: "md",
    cell: ({ name }) => <Clip text={name} />,
  },
  {
    key: "model",
    title: "Model",
    width: "minmax(110px, 1fr)",
    cell: ({ model }) => <Clip text={model} />,
  },
  {
    key: "endpoint",
    title: "Endpoint",
    width: "minmax(160px, 2fr)",
    from: "sm",
    cell: ({ endpoint }) => <Clip text={endpoint} mono />,
  },
  { key: "kind", title: "Kind", width: "100px", from: "md", cell: ({ kind }) => kind },
  { key: "uses", title: "Used for", width: "110px", from: "md", cell: usesOf },
  {
    key: "key",
    title: "Variable with its key",
    width: "150px",
    from: "lg",
    cell: ({ api_key_env }) => <Clip text={api_key_env} mono />,
  },
  {
    key: "timeout",
    title: "Timeout",
    width: "80px",
    from: "lg",
    align: "end",
    cell: ({ timeout_s }) => durationText(timeout_s * 1_000),
  },
  {
    key: "updated",
    title: "Changed",
    width: "120px",
    from: "lg",
    cell: ({ updated_at }) => <Ago at={updated_at} />,
  },
  {
    key: "promoted",
    title: "Promoted",
    width: "118px",
    cell: (engine) => (
      <Group>
        <Promote engine={engine} />
      </Group>
    ),
  },
];

export function Page() {
  const list = useGet("/engines");
  return (
    <RegistryPage
      title="Engines"
      noun="engine"
      list={list}
      recordsOf={({ engines }) => engines}
      note="AI backends that write scripts, answer questions and judge results. Auto picks the promoted engine, or the only one."
      columns={COLUMNS}
      textOf={({ slug, name, model, endpoint }) => `${slug} ${name} ${model} ${endpoint}`}
      empty={{
        text: "An engine is an OpenAI-compatible address, on this machine or elsewhere.",
        command: EXAMPLE,
      }}
      Form={EngineForm}
    />
  );
}
