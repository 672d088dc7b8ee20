import { Badge, Group, Select, Text, TextInput } from "@mantine/core";
import type { PullWorker } from "#shared/protocol/schema/pull.ts";
import { useFilters } from "../lib/filters.ts";
import { info } from "../lib/info.ts";
import { useGet } from "../lib/query.ts";
import { Beside } from "../parts/beside.tsx";
import { type Column, DataTable } from "../parts/data-table.tsx";
import { Empty, Loadable } from "../parts/states.tsx";
import { workerLook } from "../parts/status/worker.ts";
import { StatusMark } from "../parts/status-mark.tsx";
import { Ago, Clip } from "../parts/text.tsx";
import { UPDATE_LABELS, updateColor, updateWords } from "../parts/updates/update-words.ts";
import { Share } from "./pull-worker/share.tsx";
import { WorkerPanel } from "./pull-worker/worker-panel.tsx";

const gpuText = ({ gpus }: PullWorker): string => {
  const used = gpus.flatMap(({ util_percent }) => (util_percent === null ? [] : [util_percent]));
  const most = used.length === 0 ? "" : `, ${Math.round(Math.max(...used))} %`;
  return gpus.length === 0 ? "–" : `${gpus.length}${most}`;
};

const COLUMNS: Column<PullWorker>[] = [
  {
    key: "id",
    title: "Worker",
    width: "minmax(120px, 2fr)",
    cell: ({ id, host }) => (
      <div>
        <Clip text={id} />
        {host !== id && (
          <Text size="xs" c="dimmed" truncate title={host}>
            {host}
          </Text>
        )}
      </div>
    ),
  },
  {
    key: "state",
    title: "State",
    width: "144px",
    cell: (worker) => <StatusMark look={workerLook(worker)} />,
  },
  {
    key: "slots",
    title: "Slots",
    width: "92px",
    cell: ({ in_flight, slots }) => (
      <Share
        label="Slots in use"
        calm
        percent={Math.min(100, (100 * in_flight) / slots)}
        text={`${in_flight} of ${slots}`}
      />
    ),
  },
  {
    key: "filter",
    title: "Workloads",
    width: "minmax(110px, 2fr)",
    from: "md",
    cell: ({ filter }) => (
      <Clip text={filter === null ? "every workload" : filter.join(", ") || "none"} />
    ),
  },
  {
    key: "cpu",
    title: "CPU",
    width: "72px",
    from: "md",
    cell: ({ cpu_percent }) => <Share label="CPU of the worker" percent={cpu_percent} />,
  },
  {
    key: "host-cpu",
    title: "Host CPU",
    width: "84px",
    from: "lg",
    cell: ({ host_cpu_percent }) => <Share label="CPU of the host" percent={host_cpu_percent} />,
  },
  {
    key: "mem",
    title: "Memory",
    width: "76px",
    from: "md",
    cell: ({ mem_percent }) => <Share label="Memory of the host" percent={mem_percent} />,
  },
  { key: "gpu", title: "GPUs", width: "76px", from: "lg", cell: gpuText },
  {
    key: "version",
    title: "Version",
    width: "minmax(150px, 1fr)",
    from: "lg",
    cell: ({ version, update }) => (
      <Group gap={4} wrap="nowrap">
        <Clip text={version} maw={110} />
        {(update || version !== info.version) && (
          <Badge
            color={updateColor(update)}
            variant="light"
            className="status"
            title={update ? updateWords(update) : `The server has ${info.version}`}
          >
            {update ? UPDATE_LABELS[update.state] : "differs"}
          </Badge>
        )}
      </Group>
    ),
  },
  {
    key: "beat",
    title: "Heartbeat",
    width: "124px",
    from: "sm",
    cell: ({ last_heartbeat_at }) => <Ago at={last_heartbeat_at} />,
  },
];

const STATES = ["active", "draining", "offline"];

function summary(workers: readonly PullWorker[]): string {
  const there = workers.filter(({ state }) => state !== "offline");
  const sum = (of: (worker: PullWorker) => number) => there.reduce((n, one) => n + of(one), 0);
  const skewed = there.filter(({ version }) => version !== info.version).length;
  return [
    `${there.length} of ${workers.length} are connected`,
    `${sum((one) => one.in_flight)} of ${sum((one) => one.slots)} slots in use`,
    ...(skewed > 0 ? [`${skewed} with a version other than the server's ${info.version}`] : []),
  ].join(" · ");
}

/** Workers that take tasks. */
export function PipelineWorkers() {
  const [filters, set] = useFilters({ q: "", state: "", worker: "" });
  const query = useGet("/api/v1/workers");
  const all = query.data?.workers ?? [];
  const word = filters.q.toLowerCase();
  const rows = all.filter(
    ({ id, host, state, filter }) =>
      (filters.state === "" || state === filters.state) &&
      [id, host, ...(filter ?? [])].some((text) => text.toLowerCase().includes(word)),
  );
  const opened = all.find(({ id }) => id === filters.worker);
  return (
    <Beside
      name="pipeline-workers"
      usual={520}
      title={filters.worker}
      badge={opened && <StatusMark look={workerLook(opened)} />}
      detail={query.data && filters.worker !== "" && <WorkerPanel worker={opened} />}
      onClose={() => set({ worker: "" })}
    >
      {all.length > 0 && (
        <Text size="sm" c="dimmed" mb="sm">
          {summary(all)}
        </Text>
      )}
      <Loadable query={query}>
        {() =>
          all.length === 0 ? (
            <Empty
              title="No pipeline worker yet"
              command={`flotilla worker --control-url=${location.origin} --slots=4`}
            >
              A worker asks this server for tasks; start one on any host that can reach it.
            </Empty>
          ) : (
            <>
              <Group mb="sm" gap="xs">
                <TextInput
                  data-filter
                  aria-label="Filter by name, host or workload"
                  placeholder="Name, host or workload"
                  value={filters.q}
                  onChange={(event) => set({ q: event.currentTarget.value })}
                  w={{ base: "100%", xs: 260 }}
                />
                <Select
                  aria-label="State"
                  placeholder="Any state"
                  data={STATES}
                  value={filters.state || null}
                  onChange={(state) => set({ state: state ?? "" })}
                  clearable
                  w={150}
                />
              </Group>
              {rows.length === 0 ? (
                <Empty title="No worker matches">Change the filter above.</Empty>
              ) : (
                <DataTable
                  label="Pipeline workers"
                  media
                  columns={COLUMNS}
                  rows={rows}
                  rowKey={({ id }) => id}
                  current={filters.worker}
                  onOpen={({ id }) => set({ worker: id }, { push: true })}
                />
              )}
            </>
          )
        }
      </Loadable>
    </Beside>
  );
}
