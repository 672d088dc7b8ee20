import { Select } from "@mantine/core";
import type { FailureGroup } from "#shared/protocol/schema/failure.ts";
import { type Act, sinceOf } from "../failures/acting.ts";
import { GroupFilters, GroupPanels, type Offer, type ShownGroup } from "../failures/groups.tsx";
import { useFilters } from "../lib/filters.ts";
import { call, withQuery } from "../lib/http.ts";
import { useGet } from "../lib/query.ts";
import { PageHead } from "../parts/page-head.tsx";
import { Empty, Loadable } from "../parts/states.tsx";

const NONE = { workload: "", text: "", hours: "24", group: "" };
const OFFERS: readonly Offer[] = [
  { action: "cancel", label: "Cancel what waits or runs…" },
  { action: "move", label: "Move to another queue…" },
  { action: "delete", label: "Delete the failed ones…" },
];

const shown = ({ example, workloads, ...group }: FailureGroup): ShownGroup => ({
  ...group,
  places: workloads,
  traceback: example?.traceback ?? null,
  example: example && {
    label: example.pk,
    href: withQuery("/ui/pipelines/runs", { run: example.run_id }),
    at: example.finished_at,
  },
  href: withQuery("/ui/pipelines/runs", { fingerprint: group.fingerprint }),
});

/** Failed runs in groups: what failed, how often, and what to do about all of them. */
export function Page() {
  const [{ workload, text, hours, group }, set] = useFilters(NONE);
  const since = sinceOf(hours, Date.now());
  const failures = useGet("/api/v1/failures", { query: { workload, text, since, limit: 100 } });
  const list = useGet("/api/v1/workloads");
  const slugs = (list.data?.workloads ?? []).map(({ slug }) => slug);
  const act =
    ({ fingerprint }: ShownGroup): Act =>
    (action, asked) =>
      call(`POST /api/v1/failures/${action}`, {
        json: {
          ...asked,
          fingerprint,
          ...(workload === "" ? {} : { workload }),
          ...(text === "" ? {} : { text }),
        } as never,
      });
  return (
    <>
      <PageHead title="Failures" />
      <GroupFilters filters={{ text, hours }} set={set}>
        <Select
          label="Workload"
          placeholder="all"
          searchable
          clearable
          w={200}
          data={workload === "" || slugs.includes(workload) ? slugs : [workload, ...slugs]}
          value={workload || null}
          onChange={(slug) => set({ workload: slug ?? "" })}
        />
      </GroupFilters>
      <Loadable query={failures}>
        {({ items, complete, counted_since }) =>
          items.length === 0 ? (
            <Empty title="Nothing has failed">
              {workload === "" && text === ""
                ? "No run has failed in this time."
                : "Other filters, or a longer time, may show some."}
            </Empty>
          ) : (
            <GroupPanels
              groups={items.map(shown)}
              chosen={group}
              choose={(fingerprint) => set({ group: fingerprint })}
              what="task"
              offers={() => OFFERS}
              act={act}
              targets={slugs}
              counted_since={complete ? null : counted_since}
            />
          )
        }
      </Loadable>
    </>
  );
}
