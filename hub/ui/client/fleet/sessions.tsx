import { Anchor } from "@mantine/core";
import { useState } from "react";
import { Link } from "wouter";
import type { PastSession } from "#shared/protocol/schema/session.ts";
import { useFilters } from "../lib/filters.ts";
import { jobHref, sessionHref } from "../lib/links.ts";
import { useGet } from "../lib/query.ts";
import { countText, durationText, timeText } from "../lib/units.ts";
import { type Column, DataTable } from "../parts/data-table.tsx";
import { Fact, FactList } from "../parts/facts.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { cursorOf, Pager } from "../parts/pager.tsx";
import { SidePanel } from "../parts/side-panel.tsx";
import { Empty, Loadable } from "../parts/states.tsx";
import { sessionLook } from "../parts/status/session.ts";
import { StatusMark } from "../parts/status-mark.tsx";
import { Ago, Clip } from "../parts/text.tsx";

const LIMIT = 100;

const whatText = ({ title, url }: PastSession): string => title || url;
const whoText = ({ opened_by, job_id }: PastSession): string => {
  if (opened_by === null) return job_id === null ? "" : "a job";
  return opened_by === "open" ? "anybody" : opened_by;
};

const COLUMNS: Column<PastSession>[] = [
  { key: "ended", title: "Ended", width: "96px", cell: ({ ended_at }) => <Ago at={ended_at} /> },
  {
    key: "page",
    title: "Last page",
    width: "minmax(120px, 3fr)",
    cell: (session) => <Clip text={whatText(session)} />,
  },
  {
    key: "who",
    title: "Opened by",
    width: "minmax(80px, 1fr)",
    from: "sm",
    cell: (session) => <Clip text={whoText(session)} />,
  },
  {
    key: "duration",
    title: "Duration",
    width: "90px",
    align: "end",
    cell: ({ duration_ms }) => durationText(duration_ms),
  },
  {
    key: "actions",
    title: "Actions",
    width: "80px",
    from: "sm",
    align: "end",
    cell: ({ actions }) => countText(actions),
  },
  {
    key: "reason",
    title: "Why it ended",
    width: "minmax(100px, 2fr)",
    from: "md",
    cell: ({ end_reason }) => (
      <StatusMark look={sessionLook({ state: "ended", end_reason })} title={end_reason} />
    ),
  },
];

function Record({ session }: { session: PastSession }) {
  const { session_id, job_id } = session;
  return (
    <FactList label="Session">
      <Fact name="Session" copy={session_id}>
        {session_id}
      </Fact>
      <Fact name="Last page" copy={session.url}>
        {session.url}
      </Fact>
      {session.title !== "" && <Fact name="Title">{session.title}</Fact>}
      <Fact name="Opened by">{whoText(session)}</Fact>
      {job_id !== null && (
        <Fact name="Job">
          <Anchor component={Link} href={jobHref(job_id)} size="sm">
            {job_id}
          </Anchor>
        </Fact>
      )}
      <Fact name="Opened">{timeText(session.created_at)}</Fact>
      <Fact name="Ended">{timeText(session.ended_at)}</Fact>
      <Fact name="Why it ended">{session.end_reason}</Fact>
      <Fact name="Actions">{countText(session.actions)}</Fact>
      <Fact name="Lane">{`${session.worker_id}, lane ${session.lane_idx}`}</Fact>
      <Fact name="Recording">
        <Anchor component={Link} href={sessionHref(session_id)} size="sm">
          What it showed and did
        </Anchor>
      </Fact>
    </FactList>
  );
}

/** Sessions that have ended, the last one first. Open ones are under Live. */
export function Page() {
  const [{ page }, setFilters] = useFilters({ page: "" });
  const [shown, setShown] = useState<PastSession | null>(null);
  const query = useGet("/sessions", {
    query: { status: "ended", limit: LIMIT, cursor: cursorOf(page) },
  });
  return (
    <>
      <PageHead title="Past sessions" note="Open sessions are under Live." />
      <Loadable query={query}>
        {({ sessions, next_cursor }) => {
          const rows = sessions.filter((one) => one.state === "ended");
          return (
            <>
              {rows.length > 0 ? (
                <DataTable
                  label="Past sessions"
                  columns={COLUMNS}
                  rows={rows}
                  rowKey={({ session_id }) => session_id}
                  onOpen={setShown}
                />
              ) : (
                <Empty title="No session has ended yet">
                  A session that somebody opened, or that a job left open, is listed here once it
                  has ended.
                </Empty>
              )}
              <Pager
                trail={page}
                next={next_cursor}
                shown={rows.length}
                onGo={(trail) => setFilters({ page: trail }, { push: true })}
              />
            </>
          );
        }}
      </Loadable>
      <SidePanel title="Session" opened={shown !== null} onClose={() => setShown(null)} size={520}>
        {shown && <Record session={shown} />}
      </SidePanel>
    </>
  );
}
