import { Button, Select, Text } from "@mantine/core";
import { Link } from "wouter";
import { knownOf, useFilters } from "../lib/filters.ts";
import { momentOf } from "../lib/moments.ts";
import { useGet } from "../lib/query.ts";
import { FilterGroup } from "../parts/filter-group.tsx";
import { MomentField } from "../parts/moment-field.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { cursorOf, Pager } from "../parts/pager.tsx";
import { SavedLists } from "../parts/saved-lists.tsx";
import { Empty, Loadable } from "../parts/states.tsx";
import { TypedFilter } from "../parts/typed-filter.tsx";
import { useShown } from "./run/address.ts";
import { RunTable } from "./run/run-table.tsx";
import { RunsBeside } from "./run/shown-run.tsx";

const LIMIT = 50;
const NONE = {
  workload: "",
  outcome: "",
  worker: "",
  label: "",
  fingerprint: "",
  since: "",
  until: "",
};
const OUTCOMES = [
  { value: "failed", label: "every failure" },
  ...["success", "error", "timeout", "lease_expired", "crashed", "cancelled"].map((value) => ({
    value,
    label: value.replaceAll("_", " "),
  })),
];

type Filters = typeof NONE;

/** The query of the API for what the address says. */
const askFor = (
  { outcome, worker, label, fingerprint, since, until }: Filters,
  before?: string,
) => ({
  ...(outcome === "failed" ? { success: false } : { outcome }),
  worker_id: worker,
  label,
  fingerprint,
  since: momentOf(since),
  until: momentOf(until),
  before,
  limit: LIMIT,
  brief: true,
});

/** Runs of one workload, or of all. */
function useRuns({ workload, ...filters }: Filters, before?: string) {
  const query = askFor({ workload, ...filters }, before);
  const params = { slug: workload };
  const enabled = workload !== "";
  const of_one = useGet("/api/v1/workloads/{slug}/runs", { params, query }, { enabled });
  const of_all = useGet("/api/v1/runs", { query }, { enabled: !enabled });
  return enabled ? of_one : of_all;
}

interface FilterBarProps {
  filters: Filters;
  set: (changed: Partial<Filters>) => void;
}

function FilterBar({ filters, set }: FilterBarProps) {
  const list = useGet("/api/v1/workloads");
  const slugs = (list.data?.workloads ?? []).map(({ slug }) => slug);
  const known = filters.workload === "" || slugs.includes(filters.workload);
  const { workload: _, ...others } = filters;
  return (
    <FilterGroup
      label="Filter the runs"
      set={Object.values(others).filter(Boolean).length}
      first={
        <Select
          label="Workload"
          data-filter
          placeholder="all"
          searchable
          clearable
          w={200}
          data={known ? slugs : [filters.workload, ...slugs]}
          value={filters.workload || null}
          onChange={(workload) => set({ workload: workload ?? "" })}
        />
      }
    >
      <Select
        label="Outcome"
        placeholder="all"
        clearable
        w={160}
        data={OUTCOMES}
        value={filters.outcome || null}
        onChange={(outcome) => set({ outcome: outcome ?? "" })}
      />
      <TypedFilter
        label="Worker"
        placeholder="all"
        w={160}
        value={filters.worker}
        onChange={(worker) => set({ worker })}
      />
      <TypedFilter
        label="Label"
        placeholder="key:value"
        w={160}
        value={filters.label}
        onChange={(label) => set({ label })}
      />
      <MomentField
        label="Ended since"
        w={210}
        value={filters.since}
        onChange={(since) => set({ since })}
      />
      <MomentField
        label="and before"
        w={210}
        value={filters.until}
        onChange={(until) => set({ until })}
      />
      {Object.values(filters).some(Boolean) && (
        <Button variant="subtle" onClick={() => set(NONE)}>
          Show all
        </Button>
      )}
    </FilterGroup>
  );
}

/** Runs of every workload. */
export function Page() {
  const [{ page, ...filters }, setAll] = useFilters({ ...NONE, page: "" });
  const { run, showRun } = useShown();
  const runs = useRuns(filters, cursorOf(page));
  const filtered = Object.values(filters).some(Boolean);
  const set = (changed: Partial<Filters>) => setAll({ ...changed, page: "" });
  return (
    <>
      <PageHead title="Runs" note="Every attempt of a task that has ended, newest first.">
        <Button component={Link} href="/ui/pipelines/failures" variant="default">
          Failures grouped
        </Button>
      </PageHead>
      <RunsBeside name="runs">
        <SavedLists
          page="runs"
          all="All runs"
          filters={filters}
          onChoose={(saved) => setAll({ ...knownOf(NONE, saved), page: "" }, { push: true })}
        />
        <FilterBar filters={filters} set={set} />
        <Loadable query={runs}>
          {({ runs: rows, next_before }) => (
            <>
              {rows.length > 0 && (
                <RunTable label="Runs" runs={rows} current={run} onOpen={showRun} />
              )}
              {rows.length === 0 &&
                (next_before !== null ? (
                  <Text size="sm" c="dimmed" role="status">
                    None among the runs searched so far: “Older” continues from there.
                  </Text>
                ) : (
                  <Empty
                    title={filtered ? "No run matches" : "Nothing has run yet"}
                    command={
                      filtered
                        ? undefined
                        : `curl -X POST ${location.origin}/api/v1/workloads/WORKLOAD/tasks -H 'content-type: application/json' -d '{"pk": "first"}'`
                    }
                  >
                    {filtered
                      ? "Other filters, or none, may show some."
                      : "A task that a worker runs shows up here. Create a workload and submit one:"}
                  </Empty>
                ))}
              <Pager
                trail={page}
                next={next_before === null ? null : String(next_before)}
                shown={rows.length}
                onGo={(trail) => setAll({ page: trail }, { push: true })}
              />
            </>
          )}
        </Loadable>
      </RunsBeside>
    </>
  );
}
