import { Button, Group, Stack } from "@mantine/core";
import { pathOf } from "#shared/client/operation.ts";
import { useFilters } from "../../lib/filters.ts";
import { useGet } from "../../lib/query.ts";
import { Beside } from "../../parts/beside.tsx";
import { DataTable } from "../../parts/data-table.tsx";
import { cursorOf, Pager } from "../../parts/pager.tsx";
import { QuickFilter } from "../../parts/quick-filter.tsx";
import { Empty, Loadable } from "../../parts/states.tsx";
import { Ago, Clip } from "../../parts/text.tsx";
import { StateForm, StatePanel } from "./state-panel.tsx";

/** What a plugin keeps under keys. */
export function States({ slug }: { slug: string }) {
  const [filters, set] = useFilters({ prefix: "", page: "", key: "", create: "" });
  const close = () => set({ key: "", create: "" });
  const at = pathOf("GET /api/v1/plugins/{slug}/state", { params: { slug } });
  const query = useGet("/api/v1/plugins/{slug}/state", {
    params: { slug },
    query: { prefix: filters.prefix, cursor: cursorOf(filters.page), limit: 50 },
  });
  const detail = filters.create ? (
    <StateForm slug={slug} name={null} read={null} onDone={close} />
  ) : (
    filters.key && <StatePanel key={filters.key} slug={slug} name={filters.key} onDone={close} />
  );
  return (
    <Beside
      name="plugin-state"
      title={filters.create ? "New key" : filters.key}
      detail={detail}
      onClose={close}
    >
      <Stack gap="sm">
        <Group gap="xs">
          <QuickFilter
            label="Keys that begin with"
            placeholder="Keys that begin with"
            value={filters.prefix}
            onChange={(prefix) => set({ prefix, page: "" })}
          />
          <Button
            size="xs"
            variant="default"
            onClick={() => set({ create: "1", key: "" }, { push: true })}
          >
            New key
          </Button>
        </Group>
        <Loadable query={query}>
          {({ states, next_cursor }) =>
            states.length === 0 ? (
              <Empty
                title="No state"
                command={`curl -X PUT ${location.origin}${at}/totals -H 'content-type: application/json' -d '{"words":0}'`}
              >
                The plugin, its page or anybody else may store JSON under a key.
              </Empty>
            ) : (
              <>
                <DataTable
                  label="State keys"
                  columns={[
                    {
                      key: "key",
                      title: "Key",
                      width: "minmax(160px, 1fr)",
                      cell: (row) => <Clip text={row.key} mono />,
                    },
                    {
                      key: "changed",
                      title: "Changed",
                      width: "130px",
                      cell: (row) => <Ago at={row.updated_at} />,
                    },
                  ]}
                  rows={states}
                  rowKey={({ key }) => key}
                  current={filters.key}
                  onOpen={({ key }) => set({ key, create: "" }, { push: true })}
                />
                <Pager
                  trail={filters.page}
                  next={next_cursor}
                  shown={states.length}
                  onGo={(page) => set({ page })}
                />
              </>
            )
          }
        </Loadable>
      </Stack>
    </Beside>
  );
}
