import { Button, Group, Stack, Text } from "@mantine/core";
import { IconPlayerPause, IconPlayerPlay } from "@tabler/icons-react";
import { useState } from "react";
import { useFilters } from "../lib/filters.ts";
import { useChange } from "../lib/query.ts";
import { countText } from "../lib/units.ts";
import { useOffline } from "../lib/use-offline.ts";
import { LogView } from "../parts/log-view.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Empty, Loadable } from "../parts/states.tsx";
import { DEFAULTS, FilterBar } from "./logs/filter-bar.tsx";
import { LogRow } from "./logs/log-row.tsx";
import { useTail } from "./logs/tail.ts";

export function Page() {
  const [filters, set] = useFilters(DEFAULTS);
  const { follow, ...query } = filters;
  // A range that ends in the past gets no new lines.
  const following = follow === "on" && filters.until === "";
  const offline = useOffline() !== null;
  const tail = useTail(query, following);
  const older = useChange(tail.older, { failed: "Older lines were not loaded" });
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set());
  const toggle = (id: number) =>
    setOpen((before) => {
      const next = new Set(before);
      if (!next.delete(id)) next.add(id);
      return next;
    });
  return (
    <>
      <PageHead
        title="Logs"
        note="What hubs, control planes, agents and workers log about themselves."
      >
        <Button
          size="xs"
          variant={following ? "light" : "default"}
          disabled={filters.until !== ""}
          leftSection={following ? <IconPlayerPause size={14} /> : <IconPlayerPlay size={14} />}
          onClick={() => set({ follow: following ? "off" : "on" })}
        >
          {following ? "Pause" : "Follow"}
        </Button>
      </PageHead>
      <Stack gap="sm">
        <FilterBar filters={filters} set={set} />
        <Loadable query={tail.query} lines={14}>
          {({ lines, older: cursor, cut }) =>
            lines.length === 0 ? (
              <Empty
                title="No lines"
                command={`curl '${location.origin}/api/v1/service-logs?limit=20'`}
              >
                Nothing matches the filters. The settings service_log_level and service_log_days
                decide what is kept, and for how long.
              </Empty>
            ) : (
              <Stack gap="xs">
                <Group justify="space-between">
                  <Text size="sm" c="dimmed" role="status">
                    {lines.length === 1 ? "1 line" : `${countText(lines.length)} lines`},{" "}
                    {offline ? "waiting for the server" : following ? "following" : "paused"}
                  </Text>
                  {cut ? (
                    <Text size="sm" c="dimmed">
                      Older lines were left out: narrow the time range to see them.
                    </Text>
                  ) : (
                    <Button
                      size="compact-sm"
                      variant="default"
                      disabled={cursor === null}
                      loading={older.isPending}
                      onClick={() => older.mutate(undefined)}
                    >
                      {cursor === null ? "This is the beginning" : "Older"}
                    </Button>
                  )}
                </Group>
                <LogView
                  label="Service logs"
                  lines={lines}
                  lineKey={({ log_id }) => log_id}
                  height="68vh"
                  follow={following}
                >
                  {(line) => (
                    <LogRow
                      line={line}
                      open={open.has(line.log_id)}
                      onToggle={() => toggle(line.log_id)}
                    />
                  )}
                </LogView>
              </Stack>
            )
          }
        </Loadable>
      </Stack>
    </>
  );
}
