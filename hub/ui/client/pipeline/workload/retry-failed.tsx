import { Button } from "@mantine/core";
import { useState } from "react";
import { ActDialog } from "../../failures/act-dialog.tsx";
import type { Act } from "../../failures/acting.ts";
import { call } from "../../lib/http.ts";

/** Counts the failed tasks of a workload, and makes all of them ready again: those as well that fail meanwhile. */
const retryAll =
  (slug: string): Act =>
  async (_action, { dry_run }) => {
    const params = { slug };
    if (dry_run)
      return call("POST /api/v1/workloads/{slug}/tasks/retry", {
        params,
        json: { state: "failed", dry_run },
      });
    const { reset } = await call("POST /api/v1/workloads/{slug}/queue/reset-failed", { params });
    return { matched: reset, changed: reset, moved_on: 0, complete: true };
  };

/** Says how many it will be before it retries them. */
export function RetryFailed({ slug }: { slug: string }) {
  const [opened, setOpened] = useState(false);
  return (
    <>
      <Button size="xs" variant="default" onClick={() => setOpened(true)}>
        Retry all failed…
      </Button>
      <ActDialog
        action={opened ? "retry" : null}
        what="task"
        name={["failed of", slug]}
        act={retryAll(slug)}
        onClose={() => setOpened(false)}
      />
    </>
  );
}
