import { Button } from "@mantine/core";
import { useMemo, useState } from "react";
import { ActDialog } from "../../failures/act-dialog.tsx";
import { actionsFor, actOnAll, type JobAction, selectionOf } from "./by-filter.ts";
import type { JobFilters } from "./job-filters.ts";

/** Buttons of what is done with all captures that match, each of which says how many it will be before it acts. */
export function AllActions({ filters }: { filters: JobFilters }) {
  const [action, setAction] = useState<JobAction | null>(null);
  const selection = selectionOf(filters);
  const name = JSON.stringify(selection);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the text of the selection stands for it
  const act = useMemo(() => actOnAll(selection), [name]);
  return (
    <>
      {actionsFor(filters).map(({ action: one, label }) => (
        <Button
          key={one}
          size="xs"
          variant={one === "delete" ? "light" : "default"}
          color={one === "delete" ? "red" : undefined}
          onClick={() => setAction(one)}
        >
          {label}
        </Button>
      ))}
      <ActDialog
        action={action}
        what="capture"
        name={["all that match", name]}
        act={act}
        onClose={() => setAction(null)}
      />
    </>
  );
}
