import { Anchor, Button, Group, Stack } from "@mantine/core";
import { IconPlayerPlay } from "@tabler/icons-react";
import { Link } from "wouter";
import type { PastSession } from "#shared/protocol/schema/session.ts";
import { addressParts } from "../lib/address.ts";
import { useFilters } from "../lib/filters.ts";
import { jobHref, sessionHref } from "../lib/links.ts";
import { useGet } from "../lib/query.ts";
import { bytesText, countText, durationText, timeText } from "../lib/units.ts";
import { Beside } from "../parts/beside.tsx";
import { type Column, DataTable } from "../parts/data-table.tsx";
import { Fact, FactList } from "../parts/facts.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { PageName } from "../parts/page-name.tsx";
import { cursorOf, Pager } from "../parts/pager.tsx";
import { RowLink } from "../parts/row-link.tsx";
import { Empty, Loadable, NothingMatches } from "../parts/states.tsx";
import { sessionLook } from "../parts/status/session.ts";
import { StatusMark } from "../parts/status-mark.tsx";
import { Ago, Clip } from "../parts/text.tsx";
import { Thumb } from "../parts/thumb.tsx";
import { TypedFilter } from "../parts/typed-filter.tsx";
import { SmallPicture } from "./job/pictures.tsx";
import { SavedSessions } from "./saved-sessions.tsx";

const LIMIT = 100;
const NONE = { page: "", session: "", q: "", worker: "" };

const whoText = ({ opened_by, job_id }: PastSession): string => {
  if (opened_by === null) return job_id === null ? "" : "a job";
  return opened_by === "open" ? "anybody" : opened_by;
};

/** What is kept of its recording. */
const sizeText = ({ recording }: PastSession): string => bytesText(recording?.bytes);

const State = ({ session: { end_reason } }: { session: PastSession }) => (
  <StatusMark look={sessionLook({ state: "ended", end_reason })} title={end_reason} />
);

/** All of it in one cell, where there is no room for columns. */
const Card = ({ session }: { session: PastSession }) => (
  <span className="job-card">
    <RowLink href={sessionHref(session.session_id)}>
      <PageName title={session.title} url={session.url} />
    </RowLink>
    <span className="job-card-foot">
      <State session={session} />
      <span className="job-card-facts">
        {session.recording && `${sizeText(session)} · `}
        <Ago at={session.ended_at} />
      </span>
    </span>
  </span>
);

const COLUMNS: Column<PastSession>[] = [
  {
    key: "picture",
    title: "",
    width: "86px",
    cell: ({ thumbnail_href = null }) => <Thumb src={thumbnail_href} />,
  },
  {
    key: "card",
    title: "Last page",
    width: "minmax(0, 1fr)",
    below: "sm",
    cell: (session) => <Card session={session} />,
  },
  {
    key: "page",
    title: "Last page",
    width: "minmax(150px, 3fr)",
    from: "sm",
    cell: ({ session_id, title, url }) => (
      <RowLink href={sessionHref(session_id)}>
        <PageName title={title} url={url} />
      </RowLink>
    ),
  },
  {
    key: "state",
    title: "How it ended",
    width: "minmax(120px, 1fr)",
    from: "sm",
    cell: (session) => <State session={session} />,
  },
  {
    key: "who",
    title: "Opened by",
    width: "minmax(80px, 1fr)",
    from: "md",
    cell: (session) => <Clip text={whoText(session)} />,
  },
  {
    key: "actions",
    title: "Actions",
    width: "76px",
    from: "lg",
    align: "end",
    cell: ({ actions }) => countText(actions),
  },
  {
    key: "duration",
    title: "Duration",
    width: "88px",
    from: "md",
    align: "end",
    cell: ({ duration_ms }) => durationText(duration_ms),
  },
  {
    key: "size",
    title: "Recording",
    width: "88px",
    from: "sm",
    align: "end",
    cell: sizeText,
  },
  {
    key: "ended",
    title: "Ended",
    width: "96px",
    from: "sm",
    align: "end",
    cell: ({ ended_at }) => <Ago at={ended_at} />,
  },
];

function Record({ session }: { session: PastSession }) {
  const { session_id, job_id, thumbnail_href } = session;
  return (
    <Stack gap="md">
      {thumbnail_href && (
        <SmallPicture
          key={thumbnail_href}
          className="thumb panel-picture"
          src={thumbnail_href}
          alt="What its screen showed last"
        />
      )}
      <Group>
        <Button
          component={Link}
          href={sessionHref(session_id)}
          variant="default"
          leftSection={<IconPlayerPlay size={16} />}
        >
          {session.recording ? "Play recording" : "Open page"}
        </Button>
      </Group>
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
        <Fact name="Recording">{sizeText(session)}</Fact>
      </FactList>
    </Stack>
  );
}

/** Sessions that have ended, the last one first; `?session=` of the address shows one beside them. Open ones are under Live. */
export function Page() {
  const [{ page, session, q, worker }, set] = useFilters(NONE);
  const query = useGet("/sessions", {
    query: { status: "ended", q, worker_id: worker, limit: LIMIT, cursor: cursorOf(page) },
  });
  const filtered = q !== "" || worker !== "";
  const rows = (query.data?.sessions ?? []).filter((one) => one.state === "ended");
  const shown = rows.find(({ session_id }) => session_id === session);
  return (
    <>
      <PageHead title="Past sessions" note="Open sessions are under Live." />
      <Beside
        name="past-sessions"
        detail={shown && <Record session={shown} />}
        title={shown ? shown.title || addressParts(shown.url).host : ""}
        onClose={() => set({ session: "" })}
      >
        <SavedSessions filters={{ status: "ended", worker, q }} />
        <Group mb="sm" align="flex-end">
          <TypedFilter
            size="xs"
            label="Address or title has"
            filter
            w={220}
            value={q}
            onChange={(typed) => set({ q: typed, page: "", session: "" })}
          />
          <TypedFilter
            size="xs"
            label="Worker"
            w={160}
            value={worker}
            onChange={(typed) => set({ worker: typed, page: "", session: "" })}
          />
        </Group>
        <Loadable query={query}>
          {({ next_cursor }) => (
            <>
              {rows.length > 0 ? (
                <DataTable
                  label="Past sessions"
                  media
                  columns={COLUMNS}
                  rows={rows}
                  rowKey={({ session_id }) => session_id}
                  current={session}
                  href={({ session_id }) => sessionHref(session_id)}
                  onOpen={({ session_id }) => set({ session: session_id }, { push: true })}
                />
              ) : filtered ? (
                <NothingMatches onClear={() => set({ ...NONE })} />
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
                onGo={(trail) => set({ page: trail }, { push: true })}
              />
            </>
          )}
        </Loadable>
      </Beside>
    </>
  );
}
