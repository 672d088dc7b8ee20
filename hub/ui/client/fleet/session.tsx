import { Anchor, Button, Group, Text } from "@mantine/core";
import { Link } from "wouter";
import type { Session } from "#shared/protocol/schema/session.ts";
import { useFilters } from "../lib/filters.ts";
import { lateFile } from "../lib/late-file.ts";
import { jobHref } from "../lib/links.ts";
import { LatePart } from "../parts/late-part.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Loadable } from "../parts/states.tsx";
import { LiveSession } from "./session/live-session.tsx";
import { TraceLink } from "./session/trace-link.tsx";
import { hasEnded, useSession } from "./viewer/use-session.ts";

const RECORDING = lateFile(async () => (await import("./session/recording.tsx")).SessionRecording);

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
  const [filters, setFilters] = useFilters({ show: "screen", t: "" });
  // A link to a moment is one to the recording.
  const show = filters.t === "" ? filters.show : "recording";
  const turnTo = (next: string) => setFilters({ show: next, t: "" }, { push: true });
  if (show !== "recording")
    return <LiveSession session={session} onRecording={() => turnTo("recording")} />;
  return (
    <>
      <PageHead title={session.title || session.url} crumbs={CRUMBS}>
        <Button size="xs" variant="default" onClick={() => turnTo("screen")}>
          Back to the live screen
        </Button>
      </PageHead>
      <LatePart file={RECORDING}>
        {(SessionRecording) => <SessionRecording sid={session.session_id} open trace={false} />}
      </LatePart>
    </>
  );
}

/** The recording of a session that is over, with where to go from here. */
function Ended({ sid, last }: { sid: string; last: Session | undefined }) {
  return (
    <>
      <PageHead title={last?.title || "Session"} crumbs={CRUMBS} />
      <section className="session-ended" aria-labelledby="session-ended">
        <h2 id="session-ended">This session has ended</h2>
        <Text size="sm">
          Somebody ended it, it was idle for too long, its job ended, or its worker disappeared. An
          ended session never comes back.
        </Text>
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
      </section>
      <LatePart file={RECORDING}>
        {(SessionRecording) => (
          <SessionRecording sid={sid} open={false} trace={last?.trace ?? false} />
        )}
      </LatePart>
    </>
  );
}
