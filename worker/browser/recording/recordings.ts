import { mkdir, rm } from "node:fs/promises";
import { type Clock, endsWithin } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import type { ProxyOption } from "#shared/protocol/proxy.ts";
import type { HttpLogin } from "#shared/protocol/schema/http-credentials.ts";
import type { RecordMode } from "#shared/protocol/schema/record-mode.ts";
import type { AcceptedJob } from "#worker/browser/jobs/assignments.ts";
import type { HubFiles } from "#worker/hub-files.ts";
import { createVncDialer } from "../bridge/vnc.ts";
import type { SessionLink } from "../session/link.ts";
import type { Live } from "../session/live.ts";
import { type RunRecorder, startRecorder } from "./recorder.ts";

export interface RecordingsDeps {
  /** Where they lie until the hub has them; emptied at the start. */
  dir: string;
  worker_id: string;
  vnc_port_base: number;
  /** Whether the lanes have no display. */
  headless: boolean;
  vncSecret(lane_idx: number): string;
  /** How the hub of a link is reached. */
  hubFiles(link: SessionLink): HubFiles;
  clock: Clock;
  log: Log;
}

/** What the hub asks for. Absent in hubs of earlier versions, which take no recordings. */
interface AskedRecording {
  record?: RecordMode | null;
  /** Keep the bodies that its pages receive. */
  capture?: boolean | null;
  headless: boolean;
  /** Of the session; a job that has kept it has its own way out. */
  proxy?: ProxyOption | null;
  http_login?: HttpLogin | null;
  /** Values of the job that has kept it. */
  secrets?: Readonly<Record<string, string>>;
}

/** The recordings of this worker's runs (rules/recordings#what-is-recorded). */
export interface Recordings {
  /** Records a job until its end is told; null when it is not to be recorded. */
  ofJob(job: AcceptedJob, live: Live): RunRecorder | null;
  /** Records a session until it ends. */
  ofSession(live: Live, link: SessionLink, asked: AskedRecording): void;
  /** Waits for what is still on its way to the hub, a few seconds at most. */
  close(): Promise<void>;
}

/** How long a worker that stops waits for a hub that may be gone. */
const CLOSE_MS = 3_000;

interface Run {
  job_id: string | null;
  lease_token(): number;
  link: SessionLink;
  mode: RecordMode;
  headless: boolean;
  capture: boolean;
}

/** What no event may show (rules/recordings#secrets-in-recordings). */
const secretsOf = ({
  secrets = {},
  proxy,
  http_login,
}: Pick<AskedRecording, "secrets" | "proxy" | "http_login">): string[] => [
  ...Object.values(secrets),
  ...(proxy?.password ? [proxy.password] : []),
  ...(http_login ? [http_login.password] : []),
];

/** Begins to record a run that is to be recorded in that mode. */
function startFor(
  deps: RecordingsDeps,
  live: Live,
  { mode, link, capture, ...run }: Run & { mode: Exclude<RecordMode, "off"> },
): RunRecorder {
  const { dir, clock, log, worker_id } = deps;
  const hub = deps.hubFiles(link);
  const { session_id, lane_idx } = live;
  const place = {
    worker_id,
    session_id,
    job_id: run.job_id,
    lease_token: run.lease_token,
    base_url: () => Promise.resolve(hub.base_url),
    upload_token: () => link.hub.upload_token,
  };
  const headless = deps.headless || run.headless;
  const dialVnc = createVncDialer(deps.vnc_port_base + lane_idx, () => deps.vncSecret(lane_idx));
  return startRecorder({
    dir,
    place,
    mode,
    live,
    headless,
    clock,
    log,
    unheard: live.unheard(),
    capture,
    dialVnc,
  });
}

/** Keeps the recorder with the session until the run ends, or the session does; `ending`: what is then on its way to the hub. */
function keepUntilEnd(live: Live, recorder: RunRecorder, ending: Set<Promise<void>>): RunRecorder {
  live.recorders.add(recorder);
  if (recorder.bodies) live.bodies = recorder.bodies;
  // A job may go on with its uploads when its lane is another's: the screen is no longer the job's.
  const onEnd = () => void end(errorMessage(live.signal.reason));
  const end = (why: string): Promise<void> => {
    live.signal.removeEventListener("abort", onEnd);
    const done = recorder.end(why);
    ending.add(done);
    void done.then(() => ending.delete(done));
    live.recorders.delete(recorder);
    return done;
  };
  live.signal.addEventListener("abort", onEnd, { once: true });
  if (live.signal.aborted) onEnd();
  return { ...recorder, end };
}

export async function openRecordings(deps: RecordingsDeps): Promise<Recordings> {
  const { dir, clock } = deps;
  await rm(dir, { recursive: true, force: true });
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const ending = new Set<Promise<void>>();
  const start = (live: Live, { mode, ...run }: Run): RunRecorder | null =>
    mode === "off" ? null : keepUntilEnd(live, startFor(deps, live, { mode, ...run }), ending);
  return {
    ofJob: ({ assignment, options, session: link, attached }, live) => {
      const { job_id, lease_token, extras, record } = assignment;
      // A session that the job takes part in has a recording of its own, and one that it leaves has the same pages.
      live.mask.hide(secretsOf(extras));
      const mode = record ?? "off";
      const is_fetch = "invalid" in options || options.mode === "fetch";
      if (is_fetch && !attached && mode !== "off") live.hears_log = true;
      return start(live, {
        job_id,
        link,
        mode,
        headless: "headless" in options && options.headless,
        lease_token: () => lease_token,
        capture: false,
      });
    },
    ofSession: (live, link, { record, headless, capture, ...asked }) => {
      live.mask.hide(secretsOf(asked));
      start(live, {
        job_id: null,
        link,
        mode: record ?? "off",
        headless,
        capture: capture === true,
        lease_token: () => live.lease_token,
      });
    },
    close: async () => {
      await endsWithin(clock, CLOSE_MS, Promise.all(ending));
    },
  };
}
