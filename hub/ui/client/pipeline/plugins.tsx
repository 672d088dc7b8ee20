import { Badge, Stack } from "@mantine/core";
import type { Plugin } from "#shared/protocol/schema/plugin.ts";
import { usePeek } from "../lib/chosen.ts";
import { useFilters } from "../lib/filters.ts";
import { pluginHref } from "../lib/links.ts";
import { useGet } from "../lib/query.ts";
import { Beside } from "../parts/beside.tsx";
import { type Column, DataTable } from "../parts/data-table.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { QuickFilter } from "../parts/quick-filter.tsx";
import { RowLink } from "../parts/row-link.tsx";
import { Empty, Loadable } from "../parts/states.tsx";
import { Clip } from "../parts/text.tsx";
import { PluginPanel } from "./plugins/plugin-panel.tsx";

const COLUMNS: Column<Plugin>[] = [
  {
    key: "slug",
    title: "Plugin",
    width: "minmax(130px, 1fr)",
    cell: ({ slug, manifest }) => (
      <RowLink href={pluginHref(slug)}>
        <Clip text={manifest?.name ?? slug} />
      </RowLink>
    ),
  },
  {
    key: "version",
    title: "Version",
    width: "90px",
    from: "sm",
    cell: ({ manifest }) => manifest?.version ?? "–",
  },
  {
    key: "runs",
    title: "Runs as",
    width: "140px",
    cell: ({ manifest }) => <Clip text={manifest?.executor?.type} mono />,
  },
  {
    key: "page",
    title: "Web page",
    width: "90px",
    from: "sm",
    cell: ({ manifest }) => (manifest?.web ? "yes" : "no"),
  },
  {
    key: "state",
    title: "State",
    width: "110px",
    cell: ({ errors }) => (
      <Badge variant="light" color={errors.length === 0 ? "teal" : "red"} className="status">
        {errors.length === 0
          ? "usable"
          : errors.length === 1
            ? "1 error"
            : `${errors.length} errors`}
      </Badge>
    ),
  },
  {
    key: "about",
    title: "About",
    width: "minmax(180px, 2fr)",
    from: "md",
    cell: ({ manifest, errors }) => <Clip text={errors[0] ?? manifest?.description} />,
  },
];

export function Page() {
  const query = useGet("/api/v1/plugins/available");
  const [{ q }, set] = useFilters({ q: "" });
  const { chosen, choose, close } = usePeek();
  const shown = query.data?.plugins.find(({ slug }) => slug === chosen);
  return (
    <>
      <PageHead
        title="Plugins"
        note="Each folder in the plugins directory is a plugin. It appears here by itself, and workers receive it by themselves."
      />
      <Beside
        name="plugins"
        title={shown?.manifest?.name ?? chosen}
        detail={shown && <PluginPanel key={chosen} plugin={shown} />}
        onClose={close}
      >
        <Loadable query={query}>
          {({ plugins }) => {
            const rows = plugins.filter(({ slug, manifest }) =>
              `${slug} ${manifest?.name} ${manifest?.description}`
                .toLowerCase()
                .includes(q.toLowerCase()),
            );
            if (plugins.length === 0)
              return (
                <Empty
                  title="There is no plugin yet"
                  command={`mkdir -p plugins/hello && cat > plugins/hello/plugin.json <<'JSON'
{"slug":"hello","name":"Hello","version":"1.0.0","executor":{"type":"command","argv":["echo","hello"]}}
JSON`}
                >
                  In the data directory of the server, or where SVC_PLUGINS_DIR says.
                </Empty>
              );
            return (
              <Stack gap="sm">
                <QuickFilter label="Filter plugins" value={q} onChange={(q) => set({ q })} />
                {rows.length === 0 ? (
                  <Empty title="No plugin matches the filter" />
                ) : (
                  <DataTable
                    label="Plugins"
                    columns={COLUMNS}
                    rows={rows}
                    rowKey={({ slug }) => slug}
                    href={({ slug }) => pluginHref(slug)}
                    current={chosen}
                    onOpen={choose && (({ slug }) => choose(slug))}
                  />
                )}
              </Stack>
            );
          }}
        </Loadable>
      </Beside>
    </>
  );
}
