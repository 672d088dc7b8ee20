import { SegmentedControl } from "@mantine/core";
import type { Worker, WorkerStatus } from "#shared/protocol/schema/worker.ts";
import { call } from "../../lib/http.ts";
import { useChange } from "../../lib/query.ts";

const STATUSES = ["active", "drain", "standby"] as const satisfies WorkerStatus[];

/** Any status may follow any other (rules/workers#status-of-a-worker). */
export function StatusSwitch({ worker: { worker_id, status } }: { worker: Worker }) {
  const change = useChange(
    (next: WorkerStatus) =>
      call("POST /workers/{id}/status", { params: { id: worker_id }, json: { status: next } }),
    {
      done: ({ status: now }) => `Worker ${worker_id}: ${now}`,
      failed: `The status of worker ${worker_id} was not changed`,
    },
  );
  return (
    <SegmentedControl
      size="xs"
      aria-label={`Status of worker ${worker_id}`}
      value={change.isPending ? change.variables : status}
      disabled={change.isPending}
      onChange={(next) => change.mutate(next as WorkerStatus)}
      data={[...STATUSES]}
    />
  );
}
