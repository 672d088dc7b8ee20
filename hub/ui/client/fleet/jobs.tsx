import { Button } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";
import { useState } from "react";
import { Link } from "wouter";
import { useFilters } from "../lib/filters.ts";
import { jobHref } from "../lib/links.ts";
import { useGet } from "../lib/query.ts";
import { DataTable } from "../parts/data-table.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { cursorOf, Pager } from "../parts/pager.tsx";
import { Empty, Loadable } from "../parts/states.tsx";
import { BulkBar } from "./jobs/bulk-bar.tsx";
import { COLUMNS } from "./jobs/columns.tsx";
import { Filters } from "./jobs/filters.tsx";
import { NO_FILTERS, queryOf } from "./jobs/job-filters.ts";
import { SavedJobs } from "./jobs/saved-jobs.tsx";

const PAGE_ROWS = 100;

/** Every job, newest first; filters and page are in the address. */
export function Page() {
  const [filters, setFilters] = useFilters(NO_FILTERS);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const { page } = filters;
  const jobs = useGet("/jobs", {
    query: {
      ...queryOf(filters),
      limit: PAGE_ROWS,
      cursor: cursorOf(page),
    },
  });
  const filtered = Object.values(filters).some((value) => value !== "");
  return (
    <>
      <PageHead title="Captures">
        <Button component={Link} href="/ui/captures/failures" variant="default">
          Failures grouped
        </Button>
        <Button component={Link} href="/ui/captures/new" leftSection={<IconPlus size={16} />}>
          New capture
        </Button>
      </PageHead>
      <SavedJobs filters={filters} onChange={(chosen) => setFilters(chosen, { push: true })} />
      <Filters filters={filters} onChange={setFilters} />
      <Loadable query={jobs}>
        {({ jobs: rows, next_cursor }) => {
          const chosen = rows.filter(({ job_id }) => selected.has(job_id));
          return (
            <>
              {rows.length === 0 ? (
                <NoJobs filtered={filtered} />
              ) : (
                <DataTable
                  label="Jobs"
                  media
                  columns={COLUMNS}
                  rows={rows}
                  rowKey={({ job_id }) => job_id}
                  href={({ job_id }) => jobHref(job_id)}
                  // A job that has left the page is no longer selected.
                  selected={new Set(chosen.map(({ job_id }) => job_id))}
                  onSelect={setSelected}
                />
              )}
              <Pager
                trail={page}
                next={next_cursor}
                shown={rows.length}
                onGo={(trail) => setFilters({ page: trail }, { push: true })}
              />
              <BulkBar jobs={chosen} filters={filters} onClear={() => setSelected(new Set())} />
            </>
          );
        }}
      </Loadable>
    </>
  );
}

function NoJobs({ filtered }: { filtered: boolean }) {
  if (filtered) return <Empty title="No job matches these filters">Remove some to see more.</Empty>;
  return (
    <Empty
      title="There are no jobs yet"
      command={`curl -sS ${location.origin}/jobs -H 'content-type: application/json' -d '{"url": "https://example.com/"}'`}
    >
      Submit one with the form, or from a shell:
    </Empty>
  );
}
