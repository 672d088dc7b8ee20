import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import { humanSize } from "#shared/kit/words.ts";
import type { AcceptedJob } from "#worker/browser/jobs/assignments.ts";
import type { HubFiles } from "#worker/hub-files.ts";
import type { JobStory } from "#worker/link/story.ts";
import type { AssetSink } from "#worker/upload/asset-sink.ts";
import { putSessionTrace } from "#worker/upload/session-trace.ts";
import type { SessionLink } from "../session/link.ts";
import type { Live } from "../session/live.ts";
import { createRunTrace, type RunTrace } from "./run-trace.ts";

export interface TracesDeps {
  /** Where they lie until the hub has them; emptied at the start. */
  dir: string;
  worker_id: string;
  /** How the hub of a link is reached. */
  hubFiles(link: SessionLink): HubFiles;
  clock: Clock;
  log: Log;
}

/** The trace of a job's script. Neither call rejects. */
export interface JobTrace {
  /** The script is over: hands the trace to the job's uploads. */
  keep(): Promise<void>;
  /** The run is over: a trace that was not kept is gone. */
  leave(): void;
}

/** The traces of this worker's runs (rules/traces). */
export interface Traces {
  /** Traces a session from its first connection to its end. */
  ofSession(live: Live): void;
  /** Sends the trace of a session that has ended, before its lane is given back. Never rejects. */
  storeSession(live: Live, link: SessionLink): Promise<void>;
  /** Traces a job's script, if that is asked for. */
  ofJob(job: AcceptedJob, live: Live, sink: AssetSink, story: JobStory): JobTrace | null;
}

export async function openTraces({ dir, ...deps }: TracesDeps): Promise<Traces> {
  await rm(dir, { recursive: true, force: true });
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const { clock, log } = deps;
  const open = (of: RunTrace["of"], name: string, live: Live): RunTrace => {
    const place = { dir: join(dir, name), out: join(dir, `${name}.zip`) };
    // Whoever looks at its recording learns why the trace has less.
    const onLimit = (limit: string) =>
      live.tell({ type: "note", level: "warn", text: `the Playwright trace is cut: ${limit}` });
    return createRunTrace({ of, ...place, clock, onLimit });
  };
  return {
    ofSession: (live) => {
      const trace = open("session", live.session_id, live);
      const { http_login } = live.shown;
      if (http_login) trace.know([http_login.password]);
      live.trace = trace;
    },
    storeSession: async ({ session_id, lease_token, trace }, link) => {
      if (!trace) return;
      // Without its link the upload token is useless, and the lane need not wait.
      if (link.signal.aborted) return drop(trace);
      const made = await trace.end();
      if (typeof made === "string")
        return log.warn({ session_id, reason: made }, "the session has no trace");
      try {
        const { worker_id } = deps;
        const { base_url } = deps.hubFiles(link);
        const { upload_token } = link.hub;
        const place = { base_url, worker_id, session_id, lease_token, upload_token };
        await putSessionTrace({ clock, signal: link.signal }, place, made);
        log.info({ session_id, size: made.size, note: made.note }, "the session's trace is stored");
      } catch (err) {
        log.warn({ session_id, reason: errorMessage(err) }, "the session has no trace");
      } finally {
        await drop(trace);
      }
    },
    ofJob: (job, live, sink, story) => {
      const { options, assignment, attached } = job;
      if ("invalid" in options || !options.trace || options.mode === "fetch" || attached)
        return null;
      const { job_id, lease_token, extras } = assignment;
      const trace = open("job", `${job_id}-${lease_token}`, live);
      trace.know(Object.values(extras.secrets));
      trace.know(extras.cookies.map(({ value }) => value));
      if (extras.http_login) trace.know([extras.http_login.password]);
      if (extras.proxy && "password" in extras.proxy) trace.know([extras.proxy.password]);
      live.trace = trace;
      return jobTrace(trace, sink, story);
    },
  };
}

const drop = async (trace: RunTrace): Promise<void> => {
  const made = await trace.end();
  if (typeof made !== "string") await rm(made.path, { force: true }).catch(() => {});
};

function jobTrace(trace: RunTrace, sink: AssetSink, story: JobStory): JobTrace {
  let kept = false;
  const missing = (why: string) => story.log("warn", "trace", `the job has no trace: ${why}`);
  return {
    keep: async () => {
      kept = true;
      const made = await trace.end();
      if (typeof made === "string") return missing(made);
      const { note, ...body } = made;
      sink.putDocument("trace.zip", body);
      const size = humanSize(body.size);
      story.log("info", "trace", `saved the trace (${size})${note === null ? "" : `: ${note}`}`);
    },
    leave: () => {
      if (kept) return;
      missing("its run was cut off");
      void drop(trace);
    },
  };
}
