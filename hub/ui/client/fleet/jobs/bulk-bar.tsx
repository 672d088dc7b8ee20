import { Button } from "@mantine/core";
import { type ComponentProps, useState } from "react";
import { Link } from "wouter";
import { counted } from "#shared/kit/words.ts";
import type { Job } from "#shared/protocol/schema/job.ts";
import { call } from "../../lib/http.ts";
import { differenceHref } from "../../lib/links.ts";
import { tellDone, tellError, useChange, useGet } from "../../lib/query.ts";
import { ConfirmButton } from "../../parts/confirm.tsx";
import { SelectionBar } from "../../parts/selection-bar.tsx";
import { AllActions } from "./all-actions.tsx";
import { type BulkResult, failuresText, forEachOf } from "./bulk.ts";
import { isFiltered } from "./by-filter.ts";
import { type JobFilters, queryOf } from "./job-filters.ts";

const TERMINAL = new Set(["completed", "failed", "cancelled"]);

const cancel = (job: Job) => call("POST /jobs/{id}/cancel", { params: { id: job.job_id } });
const remove = (job: Job) => call("DELETE /jobs/{id}", { params: { id: job.job_id } });
/** The same options and labels again, answered at once: many jobs do not each wait for a lane. */
const submitAgain = ({ url, labels, options: { fetch_recipe: _, ...options } }: Job) =>
  call("POST /jobs", { json: { url, options, labels }, headers: { prefer: "respond-async" } });

interface Work {
  jobs: readonly Job[];
  change: (job: Job) => Promise<unknown>;
  /** "cancelled" */
  verb: string;
}

/** Which jobs; said as "1 job", "3 jobs". */
const countOf = (jobs: number) => counted(jobs, "job");

/** Where two captures that have ended are compared: the older one first. */
function pairHref(jobs: readonly Job[]): string | null {
  if (jobs.length !== 2 || jobs.some(({ finished_at }) => finished_at === null)) return null;
  const [from, to] = [...jobs].sort((a, b) => Date.parse(a.created_at) - Date.parse(b.created_at));
  return from && to ? differenceHref(from.job_id, to.job_id) : null;
}

interface BulkBarProps {
  jobs: readonly Job[];
  /** Of the list that they are of. */
  filters: JobFilters;
  onClear: () => void;
}

/** What can be done with the selected jobs, or with all that match the filters of their list. */
export function BulkBar({ jobs, filters, onClear }: BulkBarProps) {
  const query = queryOf(filters);
  const name = JSON.stringify(query);
  // Other filters find others: who wants all of those says so anew.
  const [allOf, setAllOf] = useState("");
  const enabled = jobs.length > 0 && isFiltered(filters);
  const { data: matching } = useGet("/jobs/count", { query }, { enabled });
  if (jobs.length === 0) return null;
  const clear = () => {
    setAllOf("");
    onClear();
  };
  const bar = { matching: enabled ? matching : undefined, onAll: () => setAllOf(name) };
  if (enabled && allOf === name)
    return (
      <SelectionBar count={jobs.length} {...bar} all onClear={clear}>
        <AllActions filters={filters} />
      </SelectionBar>
    );
  return <SelectedBar jobs={jobs} {...bar} onClear={clear} />;
}

type SelectedBarProps = Omit<BulkBarProps, "filters"> &
  Pick<ComponentProps<typeof SelectionBar>, "matching" | "onAll">;

/** What can be done with those that are selected, one by one. */
function SelectedBar({ jobs, matching, onAll, onClear }: SelectedBarProps) {
  const [done, setDone] = useState(0);
  const bulk = useChange<Work, BulkResult>(
    ({ jobs: of, change }) => {
      setDone(0);
      const byId = new Map(of.map((job) => [job.job_id, job]));
      return forEachOf([...byId.keys()], (id) => change(byId.get(id) as Job), setDone);
    },
    {
      failed: "The jobs were not changed",
      onDone: (result, { verb }) => {
        if (result.done > 0) tellDone(`${countOf(result.done)} ${verb}`);
        if (result.failed.length > 0)
          tellError(`${countOf(result.failed.length)} not ${verb}`, failuresText(result));
        onClear();
      },
    },
  );
  const open = jobs.filter(({ status }) => !TERMINAL.has(status));
  const pair = pairHref(jobs);
  const run = (work: Work) => bulk.mutate(work);
  const total = bulk.variables?.jobs.length ?? 0;
  return (
    <SelectionBar
      count={jobs.length}
      matching={matching}
      onAll={onAll}
      said={bulk.isPending ? `${done} of ${total} done` : undefined}
      onClear={onClear}
    >
      <Button
        size="xs"
        variant="default"
        loading={bulk.isPending}
        onClick={() => run({ jobs, change: submitAgain, verb: "submitted again" })}
      >
        Submit again
      </Button>
      {pair && (
        <Button size="xs" variant="default" component={Link} href={pair}>
          Compare
        </Button>
      )}
      <ConfirmButton
        size="xs"
        disabled={open.length === 0}
        loading={bulk.isPending}
        question={`Cancel ${countOf(open.length)}?`}
        text="What running ones have stored is kept."
        confirm="Cancel them"
        onConfirm={() => run({ jobs: open, change: cancel, verb: "cancelled" })}
      >
        Cancel
      </ConfirmButton>
      <ConfirmButton
        size="xs"
        color="red"
        variant="light"
        loading={bulk.isPending}
        question={`Delete ${countOf(jobs.length)}?`}
        text="Their records, logs and files are gone for good; running ones are cancelled first."
        confirm="Delete them"
        onConfirm={() => run({ jobs, change: remove, verb: "deleted" })}
      >
        Delete
      </ConfirmButton>
    </SelectionBar>
  );
}
