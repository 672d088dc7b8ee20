import { useHotkeys, useLocalStorage } from "@mantine/hooks";
import { useEffect, useRef, useState } from "react";
import { Link, useLocation } from "wouter";
import type { Session } from "#shared/protocol/schema/session.ts";
import { useFilters } from "../../lib/filters.ts";
import { jobHref } from "../../lib/links.ts";
import { ReplayBadge } from "../replay/replay.tsx";
import { SessionBar } from "./bar.tsx";
import { OpenDialogs } from "./open-dialogs.tsx";
import { Panels, panelOf } from "./panels.tsx";
import { Stage } from "./stage/stage.tsx";
import { usePicker } from "./stage/use-picker.ts";
import { PickedElement } from "./steps/picked.tsx";
import { StepsPanel } from "./steps/steps-panel.tsx";
import { useRecorded } from "./steps/use-recorded.ts";
import { Tabs } from "./tabs.tsx";

/** A session as a browser: its tabs, one address, a stage as large as there is room, and what belongs to it at the side. */
export function LiveSession({ session, onRecording }: { session: Session; onRecording(): void }) {
  const { session_id, title, url, headless, job_id, replay } = session;
  const [, navigate] = useLocation();
  // A replay shows first what its capture lacks.
  const [filters, setFilters] = useFilters({ panel: replay === null ? "steps" : "info" });
  const [folded, setFolded] = useLocalStorage({
    key: "session-panels-folded",
    defaultValue: false,
  });
  // A replay is there to be clicked in, and no site notices.
  const [drives, setDrives] = useState(replay !== null && job_id === null);
  const viewer = useRef<HTMLIFrameElement>(null);
  const screen = useRef<HTMLDivElement>(null);
  const recorded = useRecorded(session_id);
  const picker = usePicker(session);
  useHotkeys([["]", () => setFolded(!folded)]]);
  useEffect(() => {
    document.title = `${title || url} · Flotilla`;
  }, [title, url]);
  const record = () => {
    picker.stop();
    setDrives(true);
    recorded.record.mutate(true);
  };
  return (
    <div className="session" data-folded={folded || undefined}>
      <div className="session-top">
        <h1 className="session-title">{title || url}</h1>
        <Tabs session={session} />
        <span className="session-about">
          {replay && <ReplayBadge replay={replay} link />}
          {headless && <span>headless</span>}
          {job_id !== null && <Link href={jobHref(job_id)}>Of job {job_id}</Link>}
        </span>
      </div>
      <SessionBar
        session={session}
        drives={drives}
        onDrive={setDrives}
        viewer={viewer}
        screen={screen}
        onRecording={onRecording}
        onEnded={() => navigate("/ui/browsers")}
      />
      <OpenDialogs session={session} />
      <div className="session-room">
        <Stage session={session} drives={drives} viewer={viewer} screen={screen} picker={picker} />
        <Panels
          session={session}
          panel={panelOf(filters.panel)}
          onPanel={(panel) => setFilters({ panel })}
          folded={folded}
          onFold={setFolded}
          recording={recorded.state?.on ?? false}
          steps={
            <>
              <PickedElement picker={picker} />
              <StepsPanel session={session} recorded={recorded} picker={picker} onRecord={record} />
            </>
          }
        />
      </div>
    </div>
  );
}
