import { knownOf } from "../../lib/filters.ts";
import { useGet } from "../../lib/query.ts";
import { ListCount } from "../../parts/saved-lists/list-count.tsx";
import { SavedLists } from "../../parts/saved-lists.tsx";
import { type JobFilters, NO_FILTERS, queryOf } from "./job-filters.ts";

/** How many captures a saved list has, read again as the list itself is. */
function Count({ filters }: { filters: Readonly<Record<string, string>> }) {
  const { data } = useGet("/jobs/count", { query: queryOf(known(filters)) });
  return data ? <ListCount {...data} /> : null;
}

const known = (filters: Readonly<Record<string, string>>): JobFilters => ({
  ...knownOf(NO_FILTERS, filters),
  page: "",
});

interface SavedJobsProps {
  filters: JobFilters;
  onChange: (filters: JobFilters) => void;
}

/** Saved lists of captures. */
export function SavedJobs({ filters: { page: _, ...filters }, onChange }: SavedJobsProps) {
  return (
    <SavedLists
      page="jobs"
      all="All captures"
      filters={filters}
      count={(of) => <Count filters={of} />}
      onChoose={(chosen) => onChange(known(chosen))}
    />
  );
}
