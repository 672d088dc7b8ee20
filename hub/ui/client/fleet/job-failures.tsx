import type { JobFailureGroup } from "#shared/protocol/schema/failure.ts";
import { type Act, sinceOf } from "../failures/acting.ts";
import { GroupFilters, GroupPanels, type Offer, type ShownGroup } from "../failures/groups.tsx";
import { useFilters } from "../lib/filters.ts";
import { call, withQuery } from "../lib/http.ts";
import { jobHref } from "../lib/links.ts";
import { useGet } from "../lib/query.ts";
import { PageHead } from "../parts/page-head.tsx";
import { Empty, Loadable } from "../parts/states.tsx";

const NONE = { host: "", text: "", hours: "24", group: "" };
const DELETE: Offer = { action: "delete", label: "Delete the failed ones…" };

/** What waits or runs has not failed, so it has no fingerprint: it is cancelled by its host, where the group has one host. */
function offersOf({ places: [host, another] }: ShownGroup): Offer[] {
  if (host === undefined || another !== undefined) return [DELETE];
  return [{ action: "cancel", label: `Cancel what waits or runs at ${host}…` }, DELETE];
}

const shown = ({ example, hosts, ...group }: JobFailureGroup): ShownGroup => ({
  ...group,
  places: hosts,
  traceback: example?.traceback ?? null,
  example: example && {
    label: example.url,
    href: jobHref(example.job_id),
    at: example.finished_at,
  },
  href: withQuery("/ui/captures", { fingerprint: group.fingerprint }),
});

/** Failed captures in groups: what failed, how often, and what to do about all of them. */
export function Page() {
  const [{ host, text, hours, group }, set] = useFilters(NONE);
  const since = sinceOf(hours, Date.now());
  const failures = useGet("/jobs/failures", { query: { host, text, since, limit: 100 } });
  const act =
    ({ fingerprint, places }: ShownGroup): Act =>
    (action, { dry_run, at_most }) => {
      const asked = { dry_run, ...(at_most === undefined ? {} : { at_most }) };
      if (action === "cancel")
        return call("POST /jobs/cancel", { json: { ...asked, host: places[0] } });
      return call(`POST /jobs/${action === "move" ? "retry" : action}`, {
        json: {
          ...asked,
          fingerprint,
          ...(host === "" ? {} : { host }),
          ...(text === "" ? {} : { text }),
        },
      });
    };
  return (
    <>
      <PageHead title="Failed captures" />
      <GroupFilters filters={{ text, hours }} set={set} />
      <Loadable query={failures}>
        {({ items, complete, counted_since }) =>
          items.length === 0 ? (
            <Empty title="Nothing has failed">
              {text === ""
                ? "No capture has failed in this time."
                : "Another text, or a longer time, may show some."}
            </Empty>
          ) : (
            <GroupPanels
              groups={items.map(shown)}
              chosen={group}
              choose={(fingerprint) => set({ group: fingerprint })}
              what="capture"
              offers={offersOf}
              act={act}
              counted_since={complete ? null : counted_since}
            />
          )
        }
      </Loadable>
    </>
  );
}
