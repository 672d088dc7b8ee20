import { Button, Group, SegmentedControl, Select, Text, TextInput } from "@mantine/core";
import { IconDownload } from "@tabler/icons-react";
import { pathOf } from "#shared/client/operation.ts";
import type { Job } from "#shared/protocol/schema/job.ts";
import { useFilters } from "../../lib/filters.ts";
import { useGet } from "../../lib/query.ts";
import { bytesText, countText } from "../../lib/units.ts";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Empty, Loadable } from "../../parts/states.tsx";
import { Clip } from "../../parts/text.tsx";
import { AssetBadges } from "./asset-badges.tsx";
import { AssetDrawer } from "./asset-drawer.tsx";
import { AssetGallery } from "./asset-gallery.tsx";
import { ASSET_KINDS_SHOWN, type AssetOfJob, filterAssets } from "./asset-list.ts";

const COLUMNS: Column<AssetOfJob>[] = [
  { key: "name", title: "Name", width: "minmax(160px, 2fr)", cell: (a) => <Clip text={a.name} /> },
  { key: "kind", title: "Kind", width: "80px", from: "sm", cell: (a) => a.kind },
  { key: "mime", title: "Type", width: "160px", from: "md", cell: (a) => <Clip text={a.mime} /> },
  { key: "size", title: "Size", width: "90px", align: "end", cell: (a) => bytesText(a.size) },
  {
    key: "status",
    title: "Status",
    width: "80px",
    align: "end",
    from: "sm",
    cell: (a) => a.status ?? "–",
  },
  {
    key: "notes",
    title: "Notes",
    width: "190px",
    from: "md",
    cell: (a) => <AssetBadges asset={a} />,
  },
  {
    key: "from",
    title: "From",
    width: "minmax(160px, 2fr)",
    from: "lg",
    cell: (a) => <Clip text={a.source_url} mono />,
  },
];

/** Every stored body, as a gallery or a list, with one of them open next to it. */
export function Assets({ job }: { job: Job }) {
  const query = useGet("/jobs/{id}/assets.json", { params: { id: job.job_id } });
  const [filters, setFilters] = useFilters({ view: "gallery", kind: "", q: "", asset: "" });
  return (
    <Loadable query={query}>
      {({ items }) => {
        if (items.length === 0)
          return (
            <Empty title="No files are stored">
              {job.finished_at === null
                ? "They appear here while the job stores them."
                : "Nothing was captured: see the capture report and the log."}
            </Empty>
          );
        const shown = filterAssets(items, filters);
        const opened = items.find(({ name }) => name === filters.asset);
        const open = (asset: AssetOfJob) => setFilters({ asset: asset.name });
        const bytes = shown.reduce((sum, { size }) => sum + size, 0);
        return (
          <>
            <Group mb="sm" gap="sm">
              <TextInput
                data-filter
                aria-label="Name, address or type"
                placeholder="Name, address or type…"
                w={{ base: "100%", xs: 240 }}
                value={filters.q}
                onChange={(event) => setFilters({ q: event.currentTarget.value })}
              />
              <Select
                aria-label="Kind"
                w={140}
                data={ASSET_KINDS_SHOWN}
                value={filters.kind || "all"}
                allowDeselect={false}
                onChange={(kind) => setFilters({ kind: kind === "all" ? "" : (kind ?? "") })}
              />
              <SegmentedControl
                aria-label="Shown as"
                value={filters.view}
                onChange={(view) => setFilters({ view })}
                data={[
                  { value: "gallery", label: "Gallery" },
                  { value: "list", label: "List" },
                ]}
              />
              <Text size="sm" c="dimmed">
                {countText(shown.length)} of {countText(items.length)} files, {bytesText(bytes)}
              </Text>
              <Button
                component="a"
                href={pathOf("GET /jobs/{id}/assets.zip", { params: { id: job.job_id } })}
                download={`${job.job_id}-assets.zip`}
                variant="default"
                size="xs"
                leftSection={<IconDownload size={14} />}
              >
                All as zip
              </Button>
            </Group>
            {shown.length === 0 ? (
              <Empty title="No file matches">Change the filters.</Empty>
            ) : filters.view === "list" ? (
              <DataTable
                label="Files of the job"
                columns={COLUMNS}
                rows={shown}
                rowKey={({ name }) => name}
                onOpen={open}
                height="65dvh"
              />
            ) : (
              <AssetGallery job_id={job.job_id} assets={shown} onOpen={open} />
            )}
            {opened && (
              <AssetDrawer
                job_id={job.job_id}
                asset={opened}
                onClose={() => setFilters({ asset: "" })}
              />
            )}
          </>
        );
      }}
    </Loadable>
  );
}
