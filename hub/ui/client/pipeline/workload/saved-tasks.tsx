import { useLocation } from "wouter";
import { knownOf } from "../../lib/filters.ts";
import { workloadHref } from "../../lib/links.ts";
import { SavedLists } from "../../parts/saved-lists.tsx";

const NONE = { workload: "", state: "", label: "" };

/** Saved lists of tasks, those of other workloads as well: a name is taken for all of them. */
export function SavedTasks({ filters }: { filters: typeof NONE }) {
  const [, navigate] = useLocation();
  return (
    <SavedLists
      page="tasks"
      filters={filters}
      onChoose={(saved) => {
        const { workload, state, label } = knownOf(NONE, saved);
        navigate(workloadHref(workload, { tab: state, label }));
      }}
    />
  );
}
