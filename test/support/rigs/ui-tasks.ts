import { until } from "./fleet-process.ts";
import type { UiRig } from "./ui-rig.ts";

/** Real tasks for tests of the UI: dev mode's pipeline worker runs them with `sh`. */

/** What a page must show as text. */
export const HOSTILE = `<img src=x onerror=alert(1)>"><script>alert(2)</script>`;
const FAILS_AT_ONCE = {
  max_attempts: 1,
  backoff: { kind: "fixed", base_s: 0, max_s: 0, jitter: 0 },
};

export function uiTasks({ api }: UiRig) {
  const at = (slug: string) => `/api/v1/workloads/${slug}`;
  const counts = (slug: string) =>
    api<Record<"pending" | "claimed" | "failed" | "total", number>>("GET", `${at(slug)}/queue`);
  return {
    at,
    counts,
    /** A workload whose tasks are run by `script`. */
    make: (slug: string, script: string, fields: object = {}) =>
      api("POST", "/api/v1/workloads", {
        slug,
        executor_type: "command",
        executor_config: { argv: ["sh", "-c", script] },
        ...FAILS_AT_ONCE,
        ...fields,
      }),
    submit: (slug: string, ...pks: string[]) =>
      api("POST", `${at(slug)}/tasks/batch`, {
        items: pks.map((pk) => ({ pk, extra: { of: pk } })),
      }),
    /** Waits until the queue is as `wanted` says. */
    settled: (slug: string, wanted: Partial<Record<"pending" | "claimed" | "failed", number>>) =>
      until(`queue of ${slug}: ${JSON.stringify(wanted)}`, 60_000, async () => {
        const now = await counts(slug);
        return Object.entries(wanted).every(([name, n]) => now[name as keyof typeof now] === n);
      }),
    runs: async (slug: string) =>
      (
        await api<{ runs: { run_id: number; pk: string; outcome: string; success: boolean }[] }>(
          "GET",
          `${at(slug)}/runs`,
        )
      ).runs,
  };
}
