import { Select, Switch } from "@mantine/core";
import type { Convention } from "#shared/protocol/schema/convention.ts";
import { useFilters } from "../lib/filters.ts";
import { call } from "../lib/http.ts";
import { useChange, useGet } from "../lib/query.ts";
import type { Column } from "../parts/data-table.tsx";
import { Ago, Clip } from "../parts/text.tsx";
import { ConventionForm } from "./registry/convention-form.tsx";
import { RegistryPage } from "./registry/registry-page.tsx";

const EXAMPLE = `curl -X PUT ${location.origin}/conventions/prices -H 'content-type: application/json' \\
  -d '{"title":"Prices","text":"Give prices as numbers, without a currency sign."}'`;

function Enabled({ convention }: { convention: Convention }) {
  const { slug, title, text, enabled } = convention;
  const change = useChange(
    (next: boolean) =>
      call("PUT /conventions/{slug}", { params: { slug }, json: { title, text, enabled: next } }),
    {
      done: (_, next) => `${slug} is ${next ? "on" : "off"}`,
      failed: "The convention was not changed",
    },
  );
  return (
    <Switch
      size="sm"
      aria-label={`${slug} is enabled`}
      checked={change.isPending ? change.variables : enabled}
      disabled={change.isPending}
      onChange={(event) => change.mutate(event.currentTarget.checked)}
    />
  );
}

const COLUMNS: Column<Convention>[] = [
  {
    key: "slug",
    title: "Slug",
    width: "minmax(120px, 1fr)",
    cell: ({ slug }) => <Clip text={slug} mono />,
  },
  {
    key: "title",
    title: "Title",
    width: "minmax(110px, 1fr)",
    cell: ({ title }) => <Clip text={title} />,
  },
  {
    key: "text",
    title: "Text",
    width: "minmax(160px, 3fr)",
    from: "sm",
    cell: ({ text }) => <Clip text={text} mono />,
  },
  {
    key: "updated",
    title: "Changed",
    width: "120px",
    from: "md",
    cell: ({ updated_at }) => <Ago at={updated_at} />,
  },
  {
    key: "enabled",
    title: "Enabled",
    width: "80px",
    cell: (convention) => <Enabled convention={convention} />,
  },
];

export function Page() {
  const [{ state }, set] = useFilters({ state: "" });
  const list = useGet("/conventions");
  return (
    <RegistryPage
      title="Conventions"
      noun="convention"
      list={list}
      recordsOf={({ conventions }) => conventions}
      note="House rules that the planner receives while they are enabled."
      columns={COLUMNS}
      keep={({ enabled }) => state === "" || (state === "on") === enabled}
      textOf={({ slug, title, text }) => `${slug} ${title} ${text}`}
      filters={
        <Select
          size="xs"
          aria-label="State"
          placeholder="On and off"
          clearable
          w={130}
          data={[
            { value: "on", label: "Enabled" },
            { value: "off", label: "Not enabled" },
          ]}
          value={state || null}
          onChange={(value) => set({ state: value ?? "" })}
        />
      }
      empty={{
        text: "State once what every script must follow: formats, limits, what never to click.",
        command: EXAMPLE,
      }}
      Form={ConventionForm}
    />
  );
}
