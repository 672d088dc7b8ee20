import type { Preset } from "#shared/protocol/schema/preset.ts";
import { useGet } from "../lib/query.ts";
import type { Column } from "../parts/data-table.tsx";
import { Ago, Clip } from "../parts/text.tsx";
import { PresetForm } from "./presets/preset-form.tsx";
import { RegistryPage } from "./registry/registry-page.tsx";

const EXAMPLE =
  `curl -sS -X PUT ${location.origin}/presets/long-page -H 'content-type: application/json' ` +
  `-d '{"name": "Long page", "options": {"scroll": true, "scroll_max": 20000}}'`;

const optionsText = (options: Record<string, unknown>): string =>
  Object.entries(options)
    .map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(", ") || "–";

const COLUMNS: Column<Preset>[] = [
  {
    key: "slug",
    title: "Slug",
    width: "minmax(110px, 1fr)",
    cell: ({ slug }) => <Clip text={slug} mono />,
  },
  {
    key: "name",
    title: "Name",
    width: "minmax(110px, 1fr)",
    cell: ({ name }) => <Clip text={name || "–"} />,
  },
  {
    key: "about",
    title: "Description",
    width: "minmax(110px, 1fr)",
    from: "md",
    cell: ({ description }) => <Clip text={description || "–"} />,
  },
  {
    key: "options",
    title: "Options",
    width: "minmax(160px, 2fr)",
    from: "sm",
    cell: ({ options }) => <Clip text={optionsText(options)} mono />,
  },
  {
    key: "updated",
    title: "Changed",
    width: "120px",
    align: "end",
    from: "lg",
    cell: ({ updated_at }) => <Ago at={updated_at} />,
  },
];

/** Options of jobs under names (rules/library#presets). */
export function Page() {
  const list = useGet("/presets");
  return (
    <RegistryPage
      title="Presets"
      noun="preset"
      list={list}
      recordsOf={({ presets }) => presets}
      note="Job options under one name. What a job sets itself wins."
      columns={COLUMNS}
      textOf={({ slug, name, description }) => `${slug} ${name} ${description}`}
      empty={{ text: "A preset keeps options that many jobs share.", command: EXAMPLE }}
      Form={PresetForm}
    />
  );
}
