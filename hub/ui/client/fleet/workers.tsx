import { Anchor, Badge, Group, Select, Text, TextInput } from "@mantine/core";
import { Link } from "wouter";
import { useFilters } from "../lib/filters.ts";
import { withQuery } from "../lib/http.ts";
import { info } from "../lib/info.ts";
import { useGet } from "../lib/query.ts";
import { Beside } from "../parts/beside.tsx";
import { DataTable } from "../parts/data-table.tsx";
import { Empty, Loadable } from "../parts/states.tsx";
import { COLUMNS, filterWorkers, SHOWN } from "./workers/columns.tsx";
import { isSkewed } from "./workers/version.ts";
import { WorkerDetail } from "./workers/worker-detail.tsx";

/** Workers that run lanes. */
export function BrowserWorkers() {
  const workers = useGet("/workers");
  const health = useGet("/health");
  const [filter, setFilter] = useFilters({ worker: "", q: "", show: "" });
  const hub_version = health.data?.version ?? info.version;
  const all = workers.data?.workers ?? [];
  const opened = all.find(({ worker_id }) => worker_id === filter.worker);
  const skewed = all.filter((one) => one.alive && isSkewed(one, hub_version)).length;
  const close = () => setFilter({ worker: "" });
  const detail = opened ? (
    <WorkerDetail worker={opened} hub_version={hub_version} onForgotten={close} />
  ) : (
    workers.data && <Empty title="There is no such worker">It may have been forgotten.</Empty>
  );
  return (
    <Beside
      name="browser-workers"
      usual={520}
      title={`Worker ${filter.worker}`}
      detail={filter.worker !== "" && detail}
      onClose={close}
    >
      <Group gap="sm" mb="sm">
        <Text size="sm" c="dimmed">
          The hub's version is {hub_version}.
        </Text>
        {skewed > 0 && (
          <Badge color="orange" variant="light" className="status">
            {skewed === 1 ? "1 has" : `${skewed} have`} a version other than the hub's
          </Badge>
        )}
        <Anchor
          component={Link}
          size="sm"
          href={withQuery("/ui/browsers", { worker: filter.worker || undefined })}
        >
          Their lanes, live
        </Anchor>
      </Group>
      <Loadable query={workers}>
        {(data) => {
          if (data.workers.length === 0)
            return (
              <Empty
                title="No browser worker has connected yet"
                command={`flotilla worker --hub-url ${location.origin.replace(/^http/, "ws")}`}
              >
                Start one where Chromium is installed; it appears here by itself.
              </Empty>
            );
          const shown = filterWorkers(data.workers, filter, hub_version);
          return (
            <>
              <Group gap="xs" mb="md">
                <TextInput
                  size="xs"
                  data-filter
                  aria-label="Id, host or version"
                  placeholder="Id, host or version"
                  value={filter.q}
                  onChange={(event) => setFilter({ q: event.currentTarget.value })}
                />
                <Select
                  size="xs"
                  aria-label="Which workers"
                  placeholder="Every worker"
                  clearable
                  value={filter.show || null}
                  onChange={(show) => setFilter({ show: show ?? "" })}
                  data={SHOWN}
                />
              </Group>
              {shown.length === 0 ? (
                <Empty title="No worker matches" />
              ) : (
                <DataTable
                  label="Browser workers"
                  columns={COLUMNS(hub_version)}
                  rows={shown}
                  rowKey={({ worker_id }) => worker_id}
                  current={filter.worker}
                  onOpen={({ worker_id }) => setFilter({ worker: worker_id }, { push: true })}
                />
              )}
            </>
          );
        }}
      </Loadable>
    </Beside>
  );
}
