import { useFilters } from "../../lib/filters.ts";

/** Which run or task the drawer of these pages shows; `?run=17`, or `?task=<workload>/<key>` for one that runs. */
export function useShown() {
  const [{ run, task }, set] = useFilters({ run: "", task: "" });
  const slash = task.indexOf("/");
  return {
    run,
    task: slash < 1 ? null : { workload: task.slice(0, slash), pk: task.slice(slash + 1) },
    showRun: (id: number | string) => set({ run: String(id), task: "" }),
    showTask: (workload: string, pk: string) => set({ task: `${workload}/${pk}`, run: "" }),
    close: () => set({ run: "", task: "" }),
  };
}
