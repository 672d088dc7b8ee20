import type { UiRig } from "./ui-rig.ts";

interface AttemptRef {
  task_id: number;
  epoch: number;
}

/** A pipeline worker that does what a test tells it, by the calls that a real one makes. */
export async function uiPuller(
  { api }: UiRig,
  id: string,
  { host = id, slots = 3, version = "9.9.9" }: { host?: string; slots?: number; version?: string },
  workloads: string[],
) {
  const incarnation = `incarnation-${id}`;
  const call = <T>(name: string, body: Record<string, unknown> = {}) =>
    api<T>("POST", `/api/v1/workers/${id}/${name}`, { incarnation, ...body });
  await call("register", { host, slots, version, workloads });
  return {
    id,
    call,
    claim: async (count: number): Promise<AttemptRef[]> => {
      const { batches } = await call<{ batches: { tasks: AttemptRef[] }[] }>("claim", {
        slots: count,
      });
      return batches.flatMap(({ tasks }) =>
        tasks.map(({ task_id, epoch }) => ({ task_id, epoch })),
      );
    },
    /** The item of the list of workers. */
    read: async () => {
      const { workers } = await api<{ workers: UiPullWorker[] }>("GET", "/api/v1/workers");
      return workers.find((one) => one.id === id);
    },
  };
}

export interface UiPullWorker {
  id: string;
  state: string;
  filter: string[] | null;
}

/** A workload that no real worker takes before the test's: it is bound to the test's host. */
export const addUiWorkload = (
  { api }: UiRig,
  slug: string,
  host: string,
  fields: Record<string, unknown> = {},
) =>
  api("POST", "/api/v1/workloads", {
    slug,
    executor_type: "command",
    executor_config: { argv: ["true"] },
    host_affinity: [host],
    ...fields,
  });
