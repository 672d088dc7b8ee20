import { VisuallyHidden } from "@mantine/core";
import { IconHandFinger } from "@tabler/icons-react";
import { Link } from "wouter";
import { counted } from "#shared/kit/words.ts";
import type { Figures } from "#shared/protocol/schema/figures.ts";
import { lanesOf, type WallLane } from "../fleet/wall/lanes.ts";
import { usePreview } from "../fleet/wall/previews.ts";
import { jobHref, sessionHref } from "../lib/links.ts";
import { useNowText } from "../lib/now.ts";
import { useGet } from "../lib/query.ts";
import { Card } from "./card.tsx";
import { runningText } from "./home-words.ts";
import { newCaptureHref, wallHref } from "./links.ts";

/** Used until the settings are loaded. */
const PREVIEW_S = 2;
/** Three rows of four; the wall has the others. */
const MOST = 12;
/** Of so few each has more room. */
const FEW = 4;

function Running({ since, driven }: { since: string | undefined; driven: boolean }) {
  const text = useNowText((now) => (since ? runningText(now - Date.parse(since)) : "opening"));
  return (
    <b className="home-lane-mark">
      {driven ? <IconHandFinger size={11} stroke={2.2} aria-hidden /> : <i aria-hidden />}
      {text}
    </b>
  );
}

/** What is on a lane's screen now; a click shows more of it. */
function BusyLane({ one, interval_ms }: { one: WallLane; interval_ms: number }) {
  const { lane, session, worker } = one;
  const sid = lane.session_id ?? "";
  const [box, picture] = usePreview(sid, interval_ms);
  const title = session?.title || session?.url || lane.job_id || sid;
  const what = lane.job_id === null ? "session" : "capture";
  return (
    <Link
      className="home-lane"
      href={lane.job_id === null ? sessionHref(sid) : jobHref(lane.job_id)}
      title={`${title}, lane ${lane.lane_idx} of ${worker.worker_id}`}
    >
      <VisuallyHidden>
        The {what} of {title} on lane {lane.lane_idx} of {worker.worker_id},{" "}
      </VisuallyHidden>
      <div ref={box} className="home-lane-picture">
        {picture.state === "there" && <img src={picture.url} alt="" decoding="async" />}
      </div>
      <Running since={session?.created_at} driven={lane.job_id === null} />
    </Link>
  );
}

const IDLE: Record<string, string> = {
  warm: "free",
  dead: "out of service",
  quarantined: "resting",
};

function IdleLane({ one }: { one: WallLane }) {
  const { lane, worker } = one;
  const text = IDLE[lane.state] ?? "starting";
  if (lane.state === "warm" && worker.status === "active")
    return (
      <Link className="home-lane" data-idle href={newCaptureHref} aria-label="Use a free lane">
        {text}
      </Link>
    );
  return (
    <span className="home-lane" data-idle title={lane.reason ?? undefined}>
      {worker.status === "active" ? text : worker.status}
    </span>
  );
}

/** Every lane as a small live picture, and the places that are free. */
export function RunningNow({ figures }: { figures: Figures }) {
  const workers = useGet("/workers");
  const sessions = useGet("/sessions");
  const settings = useGet("/settings");
  const interval_ms = Number(settings.data?.settings.preview_interval_s ?? PREVIEW_S) * 1_000;
  const alive = (workers.data?.workers ?? []).filter((worker) => worker.alive);
  const open = sessions.data?.sessions.filter((one) => one.state === "active") ?? [];
  const lanes = lanesOf(alive, open);
  const busy = lanes.filter(({ lane }) => lane.session_id !== null);
  const idle = lanes.filter(({ lane }) => lane.session_id === null);
  const shown = [...busy, ...idle].slice(0, MOST);
  const queued = figures.queue.queued;
  // Of the lanes that are shown, so that both always agree.
  const note = [
    workers.data && `${busy.length} of ${lanes.length} lanes`,
    queued > 0 && `${counted(queued, "capture")} queued`,
  ];
  return (
    <Card
      title="Running now"
      note={note.filter(Boolean).join(" · ")}
      more={{ label: "Live wall", href: wallHref }}
      className="home-running"
    >
      {workers.data && lanes.length === 0 ? (
        <p className="home-none">
          No browser worker is connected. Start one with{" "}
          <code>flotilla worker --hub-url {location.origin.replace(/^http/, "ws")}</code>
        </p>
      ) : (
        <div className="home-lanes" data-few={lanes.length <= FEW || undefined}>
          {shown.map((one) =>
            one.lane.session_id === null ? (
              <IdleLane key={one.key} one={one} />
            ) : (
              <BusyLane
                key={`${one.key} ${one.lane.session_id}`}
                one={one}
                interval_ms={interval_ms}
              />
            ),
          )}
        </div>
      )}
      {lanes.length > MOST && (
        <Link className="home-all" href={wallHref}>
          {lanes.length - MOST} more on the wall
        </Link>
      )}
    </Card>
  );
}
