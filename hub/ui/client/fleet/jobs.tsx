import { Button } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";
import { useState } from "react";
import { Link } from "wouter";
import type { Job } from "#shared/protocol/schema/job.ts";
import { addressParts } from "../lib/address.ts";
import { usePeek } from "../lib/chosen.ts";
import { useFilters } from "../lib/filters.ts";
import { jobHref } from "../lib/links.ts";
import { useGet } from "../lib/query.ts";
import { Beside } from "../parts/beside.tsx";
import { DataTable } from "../parts/data-table.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { cursorOf, Pager } from "../parts/pager.tsx";
import { Empty, Loadable } from "../parts/states.tsx";
import { BulkBar } from "./jobs/bulk-bar.tsx";
import { COLUMNS } from "./jobs/columns.tsx";
import { Filters } from "./jobs/filters.tsx";
import { NO_FILTERS, queryOf } from "./jobs/job-filters.ts";
import { JobPanel } from "./jobs/job-panel.tsx";
import { SavedJobs } from "./jobs/saved-jobs.tsx";

const PAGE_ROWS = 100;

/** What a person would call it. */
const nameOf = ({ title, url }: Job): string => title || addressParts(url).host || url;

/** Every job, newest first; filters and page are in the address. */
export function Page() {
  const [filters, setFilters] = useFilters(NO_FILTERS);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const { chosen: shown_id, choose, close } = usePeek();
  const { page } = filters;
  const jobs = useGet("/jobs", {
    query: {
      ...queryOf(filters),
      limit: PAGE_ROWS,
      cursor: cursorOf(page),
    },
  });
  const shown = jobs.data?.jobs.find(({ job_id }) => job_id === shown_id);
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
      <Beside
        name="jobs"
        title={shown ? nameOf(shown) : ""}
        detail={shown && <JobPanel key={shown_id} job={shown} />}
        onClose={close}
      >
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
                    current={shown_id}
                    onOpen={choose && (({ job_id }) => choose(job_id))}
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
      </Beside>
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
