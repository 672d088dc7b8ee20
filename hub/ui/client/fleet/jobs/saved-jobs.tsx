import { Text } from "@mantine/core";
import { useGet } from "../../lib/query.ts";
import { countText } from "../../lib/units.ts";
import { SavedLists } from "../../parts/saved-lists.tsx";
import { type JobFilters, NO_FILTERS } from "./filters.tsx";

/** Names that this list has filters for; a saved one of another version may have more. */
const NAMES = Object.keys(NO_FILTERS).filter((name) => name !== "page");

/** How many captures a saved list has, read again as the list itself is. */
function Count({ filters }: { filters: Readonly<Record<string, string>> }) {
  const { worker: worker_id, page: _, ...rest } = known(filters);
  const { data } = useGet("/jobs/count", { query: { ...rest, worker_id } });
  if (!data) return null;
  return (
    <Text span size="xs" c="dimmed">
      {countText(data.count)}
      {data.more ? "+" : ""}
    </Text>
  );
}

const known = (filters: Readonly<Record<string, string>>): JobFilters => {
  const named = NAMES.map((name) => [name, filters[name] ?? ""]);
  return { ...NO_FILTERS, ...Object.fromEntries(named) };
};

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
