import { Button, Group, Text } from "@mantine/core";
import { useState } from "react";
import type { QueueRow } from "#shared/protocol/schema/queue.ts";
import { useFilters } from "../../lib/filters.ts";
import { call } from "../../lib/http.ts";
import { useChange, useGet } from "../../lib/query.ts";
import { ConfirmButton } from "../../parts/confirm.tsx";
import { DataTable } from "../../parts/data-table.tsx";
import { Empty, Loadable } from "../../parts/states.tsx";
import { TypedFilter } from "../../parts/typed-filter.tsx";
import { useShown } from "../run/address.ts";
import { COLUMNS_OF, type QueueTab } from "./queue-columns.tsx";
import { RetryFailed } from "./retry-failed.tsx";
import { SavedTasks } from "./saved-tasks.tsx";

const LIMIT = 50;
/** Calls of a bulk action at a time. */
const AT_ONCE = 6;

const NOTHING: Record<QueueTab, string> = {
  ready: "No task is ready",
  claimed: "No task runs",
  failed: "No task has failed",
  delayed: "No task waits for its time",
};

/** Calls `act` for every key; those of which it did not hold. */
async function forEach(pks: readonly string[], act: (pk: string) => Promise<unknown>) {
  const left = [...pks];
  const failed: string[] = [];
  const worker = async () => {
    for (let pk = left.shift(); pk !== undefined; pk = left.shift()) {
      const key = pk;
      await act(key).catch(() => failed.push(key));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return { done: pks.length - failed.length, failed };
}

interface BulkProps {
  slug: string;
  tab: QueueTab;
  /** The list is not of all tasks in this state, so nothing here is for all of them. */
  narrowed: boolean;
  selected: ReadonlySet<string>;
  onDone: () => void;
}

function BulkBar({ slug, tab, narrowed, selected, onDone }: BulkProps) {
  const said = (verb: string) => (out: { done: number; failed: string[] }) =>
    out.failed.length === 0
      ? `${out.done} tasks ${verb}`
      : `${out.done} tasks ${verb}; ${out.failed.length} had moved on meanwhile`;
  const remove = useChange(
    () =>
      forEach([...selected], (pk) =>
        call("DELETE /api/v1/workloads/{slug}/queue/{pk}", { params: { slug, pk } }),
      ),
    { done: said(tab === "claimed" ? "cancelled" : "deleted"), failed: "Nothing was done", onDone },
  );
  const retry = useChange(
    () =>
      forEach([...selected], (pk) =>
        call("POST /api/v1/workloads/{slug}/queue/{pk}/reset", { params: { slug, pk } }),
      ),
    { done: said("are ready again"), failed: "Nothing was done", onDone },
  );
  const verb = tab === "claimed" ? "Cancel" : "Delete";
  return (
    <Group gap="xs" mb="sm">
      {tab === "failed" && !narrowed && <RetryFailed slug={slug} />}
      {selected.size > 0 && (
        <>
          {tab === "failed" && (
            <Button
              size="xs"
              variant="default"
              loading={retry.isPending}
              onClick={() => retry.mutate(undefined)}
            >
              {`Retry ${selected.size} selected`}
            </Button>
          )}
          <ConfirmButton
            size="xs"
            question={`${verb} ${selected.size} tasks?`}
            text={
              tab === "claimed"
                ? "Their workers stop them; the runs end as cancelled and the tasks leave the queue."
                : "They leave the queue without being run again. Their runs stay."
            }
            loading={remove.isPending}
            onConfirm={() => remove.mutate(undefined)}
          >
            {`${verb} ${selected.size} selected`}
          </ConfirmButton>
        </>
      )}
    </Group>
  );
}

/** Rows of the queue in one state, oldest first; their label and their place are in the address. */
export function Queue({ slug, tab }: { slug: string; tab: QueueTab }) {
  const [{ label, offset: from }, set] = useFilters({ label: "", offset: "" });
  const offset = Number(from) || 0;
  const onOffset = (to: number) => set({ offset: to === 0 ? "" : String(to) }, { push: true });
  const { task, showTask } = useShown();
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const peek = useGet("/api/v1/workloads/{slug}/queue/peek", {
    params: { slug },
    query: {
      state: tab,
      label,
      limit: LIMIT,
      offset: offset || undefined,
    },
  });
  // What has left the page is not acted on unseen.
  const here = new Set(peek.data?.rows.map(({ pk }: QueueRow) => pk));
  const chosen = new Set([...selected].filter((pk) => here.has(pk)));
  return (
    <>
      <SavedTasks filters={{ workload: slug, state: tab, label }} />
      <Group mb="sm">
        <TypedFilter
          label="Label"
          placeholder="key:value"
          w={200}
          filter
          value={label}
          onChange={(typed) => set({ label: typed, offset: "" })}
        />
      </Group>
      <Loadable query={peek}>
        {({ rows, next_offset }) => (
          <>
            {(rows.length > 0 || offset > 0) && (
              <BulkBar
                slug={slug}
                tab={tab}
                narrowed={label !== ""}
                selected={chosen}
                onDone={() => setSelected(new Set())}
              />
            )}
            {rows.length === 0 ? (
              <Empty title={label === "" ? NOTHING[tab] : "No task here has this label"} />
            ) : (
              <DataTable
                label={`Tasks: ${tab}`}
                columns={COLUMNS_OF[tab]}
                rows={rows}
                rowKey={({ pk }) => pk}
                current={task?.pk}
                onOpen={({ pk }) => showTask(slug, pk)}
                selected={chosen}
                onSelect={setSelected}
              />
            )}
            {(offset > 0 || next_offset !== null) && (
              <Group justify="space-between" mt="sm">
                <Text size="sm" c="dimmed">
                  Tasks {offset + 1} to {offset + rows.length}, oldest first
                </Text>
                <Group gap="xs">
                  <Button
                    size="xs"
                    variant="default"
                    disabled={offset === 0}
                    onClick={() => onOffset(Math.max(0, offset - LIMIT))}
                  >
                    Before
                  </Button>
                  <Button
                    size="xs"
                    variant="default"
                    disabled={next_offset === null}
                    onClick={() => next_offset !== null && onOffset(next_offset)}
                  >
                    Next
                  </Button>
                </Group>
              </Group>
            )}
          </>
        )}
      </Loadable>
    </>
  );
}
