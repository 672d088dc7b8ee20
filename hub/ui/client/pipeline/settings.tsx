import { Badge, Stack, Text, Title } from "@mantine/core";
import type { LlmEngine, Setting } from "#shared/protocol/schema/operations.ts";
import { useFilters } from "../lib/filters.ts";
import { useGet } from "../lib/query.ts";
import { Beside } from "../parts/beside.tsx";
import { type Column, DataTable } from "../parts/data-table.tsx";
import { QuickFilter } from "../parts/quick-filter.tsx";
import { Empty, Loadable } from "../parts/states.tsx";
import { Ago, Clip } from "../parts/text.tsx";
import { pipelineName, unitOf } from "../system/setting-names.ts";
import { LlmPanel } from "./settings/llm-panel.tsx";
import { SettingPanel } from "./settings/setting-panel.tsx";

function valueText({ key, value }: Setting): string {
  if (value === null || value === "") return "not set";
  if (key === "llm_engines")
    return (value as LlmEngine[]).map(({ name }) => name).join(", ") || "none";
  if (Array.isArray(value)) return value.length === 0 ? "none" : value.map(String).join(" ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

const SOURCES: Record<Setting["source"], { text: string; color: string }> = {
  stored: { text: "stored", color: "blue" },
  env: { text: "variable", color: "grape" },
  default: { text: "default", color: "gray" },
};

const COLUMNS: Column<Setting>[] = [
  {
    key: "key",
    title: "Setting",
    width: "minmax(150px, 1.2fr)",
    cell: ({ key }) => (
      <div>
        <Clip text={pipelineName(key)} />
        <span className="clip setting-key">{key}</span>
      </div>
    ),
  },
  {
    key: "value",
    title: "Value",
    width: "minmax(110px, 1.4fr)",
    cell: (setting) => <Clip text={`${valueText(setting)} ${unitOf(setting.key)}`.trim()} mono />,
  },
  {
    key: "source",
    title: "From",
    width: "100px",
    cell: ({ source }) => (
      <Badge variant="light" color={SOURCES[source].color} className="status">
        {SOURCES[source].text}
      </Badge>
    ),
  },
  {
    key: "about",
    title: "About",
    width: "minmax(180px, 2fr)",
    from: "sm",
    cell: ({ description }) => <Clip text={description} />,
  },
  {
    key: "changed",
    title: "Changed",
    width: "120px",
    from: "lg",
    cell: ({ updated_at }) => <Ago at={updated_at} />,
  },
];

function Edited({ setting, onDone }: { setting: Setting | undefined; onDone: () => void }) {
  if (setting?.writable) return <SettingPanel setting={setting} onDone={onDone} />;
  return (
    <Empty title="This setting is not changed here">
      {setting ? setting.description : "There is no setting with this name."}
    </Empty>
  );
}

/** Settings of the control plane. */
export function PipelineSettings() {
  const query = useGet("/api/v1/settings");
  const [filters, set] = useFilters({ q: "", edit: "" });
  const close = () => set({ edit: "" });
  return (
    <>
      <Text size="sm" c="dimmed" mb="md">
        Only the administrator can change them; secrets are never shown.
      </Text>
      <Loadable query={query} lines={10}>
        {({ settings }) => {
          const wanted = filters.q.toLowerCase();
          const rows = settings.filter(({ key, description }) =>
            `${key} ${pipelineName(key)} ${description}`.toLowerCase().includes(wanted),
          );
          const edited = settings.find(({ key }) => key === filters.edit);
          const fixed = rows.filter(({ writable }) => !writable);
          const writable = rows.filter((row) => row.writable);
          return (
            <Beside
              name="settings"
              title={`${pipelineName(filters.edit)} (${filters.edit})`}
              detail={
                filters.edit !== "" && <Edited key={filters.edit} setting={edited} onDone={close} />
              }
              onClose={close}
            >
              <Stack gap="md">
                <QuickFilter
                  label="Filter settings"
                  value={filters.q}
                  onChange={(q) => set({ q })}
                />
                {rows.length === 0 && <Empty title="No setting matches the filter" />}
                {writable.length > 0 && (
                  <Stack gap="xs">
                    <Title order={2} size="h4">
                      Changed here
                    </Title>
                    <DataTable
                      label="Settings that are changed here"
                      media
                      columns={COLUMNS}
                      rows={writable}
                      rowKey={({ key }) => key}
                      current={filters.edit}
                      onOpen={({ key }) => set({ edit: key }, { push: true })}
                    />
                  </Stack>
                )}
                <LlmPanel settings={settings} />
                {fixed.length > 0 && (
                  <Stack gap="xs">
                    <Title order={2} size="h4">
                      Set by variables
                    </Title>
                    <Text size="sm" c="dimmed">
                      Read when the program starts: change the variable and restart it.
                    </Text>
                    <DataTable
                      label="Settings that variables set"
                      media
                      columns={COLUMNS}
                      rows={fixed}
                      rowKey={({ key }) => key}
                    />
                  </Stack>
                )}
              </Stack>
            </Beside>
          );
        }}
      </Loadable>
    </>
  );
}
