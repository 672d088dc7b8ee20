import { Group, Select, TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { useState } from "react";
import type { RunList } from "#shared/schema/queue.ts";
import { useFilters } from "../../lib/filters.ts";
import { seg } from "../../lib/http.ts";
import { useGet } from "../../lib/query.ts";
import { cursorOf, Pager } from "../../parts/pager.tsx";
import { Empty, Loadable } from "../../parts/states.tsx";
import { useShown } from "../run/address.ts";
import { RunTable } from "../run/run-table.tsx";

const LIMIT = 50;

/** Runs of one workload. */
export function WorkloadRuns({ slug }: { slug: string }) {
  const [{ success, key, page }, set] = useFilters({ success: "", key: "", page: "" });
  const [text, setText] = useState(key);
  const later = useDebouncedCallback((typed: string) => set({ key: typed, page: "" }), 300);
  const { showRun } = useShown();
  const runs = useGet<RunList>(`/api/v1/workloads/${seg(slug)}/runs`, {
    ...{ success, pk: key, before: cursorOf(page), limit: LIMIT, brief: true },
  });
  return (
    <>
      <Group gap="sm" mb="md" align="end">
        <Select
          label="Outcome"
          placeholder="all"
          clearable
          w={160}
          data={[
            { value: "true", label: "succeeded" },
            { value: "false", label: "failed" },
          ]}
          value={success || null}
          onChange={(value) => set({ success: value ?? "", page: "" })}
        />
        <TextInput
          label="Task"
          data-filter
          placeholder="its whole key"
          value={text}
          onChange={(event) => {
            setText(event.currentTarget.value);
            later(event.currentTarget.value);
          }}
        />
      </Group>
      <Loadable query={runs}>
        {({ runs: rows, next_before }) => (
          <>
            {rows.length === 0 ? (
              <Empty title={success || key ? "No run matches" : "Nothing was run yet"} />
            ) : (
              <RunTable
                label={`Runs of ${slug}`}
                runs={rows}
                without={["workload"]}
                onOpen={showRun}
              />
            )}
            <Pager
              trail={page}
              next={next_before === null ? null : String(next_before)}
              shown={rows.length}
              onGo={(trail) => set({ page: trail }, { push: true })}
            />
          </>
        )}
      </Loadable>
    </>
  );
}
