import { Group, Select } from "@mantine/core";
import { useFilters } from "../../lib/filters.ts";
import { useAhead, useGet } from "../../lib/query.ts";
import { cursorOf, Pager } from "../../parts/pager.tsx";
import { Empty, Loadable } from "../../parts/states.tsx";
import { TypedFilter } from "../../parts/typed-filter.tsx";
import { useShown } from "../run/address.ts";
import { RunTable } from "../run/run-table.tsx";

const LIMIT = 50;

const NONE = { success: "", key: "", label: "", page: "" };
/** What the API is asked for what the address says. */
const askFor = (slug: string, { success, key, label, page }: typeof NONE) => ({
  params: { slug },
  query: { success, pk: key, label, before: cursorOf(page), limit: LIMIT, brief: true },
});

/** Reads them while the page waits for what is above them. */
export function useRunsAhead(slug: string): void {
  const [filters] = useFilters(NONE);
  useAhead("/api/v1/workloads/{slug}/runs", askFor(slug, filters));
}

/** Runs of one workload. */
export function WorkloadRuns({ slug }: { slug: string }) {
  const [filters, set] = useFilters(NONE);
  const { success, key, label, page } = filters;
  const { run, showRun } = useShown();
  const runs = useGet("/api/v1/workloads/{slug}/runs", askFor(slug, filters));
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
        <TypedFilter
          label="Task"
          filter
          placeholder="Task key, for example invoices-37"
          value={key}
          onChange={(typed) => set({ key: typed, page: "" })}
        />
        <TypedFilter
          label="Label"
          placeholder="key:value"
          w={160}
          value={label}
          onChange={(typed) => set({ label: typed, page: "" })}
        />
      </Group>
      <Loadable query={runs}>
        {({ runs: rows, next_before }) => (
          <>
            {rows.length === 0 ? (
              <Empty title={success || key || label ? "No run matches" : "Nothing has run yet"} />
            ) : (
              <RunTable
                label={`Runs of ${slug}`}
                runs={rows}
                oneWorkload
                current={run}
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
