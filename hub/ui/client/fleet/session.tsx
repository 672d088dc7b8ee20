import {
  Anchor,
  Badge,
  Box,
  Group,
  SegmentedControl,
  SimpleGrid,
  Stack,
  Text,
} from "@mantine/core";
import { lazy, Suspense } from "react";
import { Link, useLocation } from "wouter";
import type { Session } from "#shared/protocol/schema/session.ts";
import { useFilters } from "../lib/filters.ts";
import { jobHref } from "../lib/links.ts";
import { PageHead } from "../parts/page-head.tsx";
import { Empty, Loadable, Loading } from "../parts/states.tsx";
import { ReplayBadge, Replayed } from "./replay/replay.tsx";
import { AddressBar } from "./session/address-bar.tsx";
import { Downloads } from "./session/downloads.tsx";
import { EndSession } from "./session/end-session.tsx";
import { Facts } from "./session/facts.tsx";
import { KeepAlive } from "./session/keep-alive.tsx";
import { OpenDialogs } from "./session/open-dialogs.tsx";
import { Pictures } from "./session/pictures.tsx";
import { SaveProfile } from "./session/save-profile.tsx";
import { Tabs } from "./session/tabs.tsx";
import { TraceLink } from "./session/trace-link.tsx";
import { hasEnded, useSession } from "./viewer/use-session.ts";
import { Viewer } from "./viewer/viewer.tsx";

const SessionRecording = lazy(async () => ({
  default: (await import("./session/recording.tsx")).SessionRecording,
}));

const CRUMBS = [{ title: "Browsers", href: "/ui/browsers" }];

export function Page({ params }: { params: Record<string, string> }) {
  const sid = params.sid ?? "";
  return <SessionPage key={sid} sid={sid} />;
}

function SessionPage({ sid }: { sid: string }) {
  const query = useSession(sid);
  if (hasEnded(query)) return <Ended sid={sid} last={query.data} />;
  return (
    <>
      {!query.data && <PageHead title="Session" crumbs={CRUMBS} />}
      <Loadable query={query}>{(session) => <Open session={session} />}</Loadable>
    </>
  );
}

function Open({ session }: { session: Session }) {
  const [, navigate] = useLocation();
  const { session_id, title, url, headless, job_id, replay } = session;
  const [filters, setFilters] = useFilters({ show: "screen", t: "" });
  // A link to a moment is one to the recording.
  const show = filters.t === "" ? filters.show : "recording";
  return (
    <>
      <PageHead
        title={title || url}
        crumbs={CRUMBS}
        badges={
          <>
            {replay && <ReplayBadge replay={replay} link />}
            {headless && (
              <Badge variant="default" className="status">
                headless
              </Badge>
            )}
          </>
        }
        note={
          job_id !== null && (
            <Group gap={6}>
              Of job
              <Anchor component={Link} size="sm" underline="always" href={jobHref(job_id)}>
                {job_id}
              </Anchor>
            </Group>
          )
        }
      >
        <SaveProfile session={session} />
        <EndSession session={session} onEnded={() => navigate("/ui/browsers")} />
      </PageHead>
      <SegmentedControl
        size="xs"
        mb="sm"
        aria-label="Shown"
        value={show}
        onChange={(next) => setFilters({ show: next, t: "" }, { push: true })}
        data={[
          { value: "screen", label: "Live" },
          { value: "recording", label: "Recording" },
        ]}
      />
      {show === "recording" ? (
        <Suspense fallback={<Loading />}>
          <SessionRecording sid={session_id} open />
        </Suspense>
      ) : (
        <OpenScreen session={session} />
      )}
    </>
  );
}

/** Its screen with everything that can be done to it. */
function OpenScreen({ session }: { session: Session }) {
  const { session_id, job_id, replay } = session;
  return (
    <>
      <Box className="session-page">
        <Stack gap="xs" miw={0}>
          <AddressBar session={session} />
          <OpenDialogs session={session} />
          {/* A replay is there to be clicked in, and no site notices. */}
          <Viewer sid={session_id} takeOver={replay !== null && job_id === null} />
        </Stack>
        <Stack gap="lg" miw={0}>
          <Facts session={session} />
          {replay && <Replayed replay={replay} />}
          <KeepAlive session={session} />
          <Tabs session={session} />
        </Stack>
      </Box>
      <SimpleGrid cols={{ base: 1, md: 2 }} mt="lg">
        <Pictures session={session} />
        <Downloads session={session} />
      </SimpleGrid>
    </>
  );
}

function Ended({ sid, last }: { sid: string; last: Session | undefined }) {
  return (
    <>
      <PageHead title={last?.title || "Session"} crumbs={CRUMBS} />
      <Empty
        title="This session has ended"
        action={
          <Group>
            {last?.job_id && (
              <Anchor component={Link} href={jobHref(last.job_id)}>
                Its job
              </Anchor>
            )}
            {last?.trace && <TraceLink sid={sid} />}
            <Anchor component={Link} href="/ui/browsers">
              Live browsers
            </Anchor>
            <Anchor component={Link} href="/ui/browsers?new=any">
              Open another session
            </Anchor>
          </Group>
        }
      >
        <Text size="sm">
          Somebody ended it, it was idle for too long, its job ended, or its worker disappeared. An
          ended session never comes back.
        </Text>
      </Empty>
      <Suspense fallback={<Loading />}>
        <SessionRecording sid={sid} open={false} />
      </Suspense>
    </>
  );
}
