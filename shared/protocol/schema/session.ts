import { z } from "@hono/zod-openapi";
import { idle_ttl_s, picture, StartUrl } from "../actions/arguments.ts";
import { EgressOption } from "../egress.ts";
import { RECONNECT_S, SESSION_TTL_S } from "../limits.ts";
import { ProxyOption } from "../proxy.ts";
import { BlockedReport } from "./block.ts";
import { ownBrowserOptions } from "./browser-options.ts";
import { SessionCookie } from "./cookie.ts";
import { Dialog, DialogPolicy } from "./dialog.ts";
import { egress, proxy, worker_id } from "./lane-choice.ts";
import { NextCursor, PageQuery } from "./page.ts";
import { ProfileName } from "./profile.ts";
import { RecordMode } from "./record-mode.ts";
import { NEEDS_REPLAY, ReplayClockOption, ReplayReport } from "./replay.ts";

/** Body of POST /sessions (rules/sessions#open-a-session). Durations in seconds. */
export const CreateSession = z
  .strictObject({
    url: StartUrl.nullable().default(null),
    use_profile: z
      .string()
      .regex(/^[a-z0-9_-]{1,64}$/, "must consist of a-z, 0-9, hyphen and underscore")
      .nullable()
      .default(null),
    headless: z.boolean().default(false).meta({
      description: "Without a window: it is watched through the page's own screenshots.",
    }),
    idle_ttl_s: idle_ttl_s
      .default(SESSION_TTL_S.idle_default)
      .meta({ description: "Without any activity it ends after this time." }),
    ttl_s: z
      .int()
      .min(SESSION_TTL_S.idle_min)
      .max(SESSION_TTL_S.ttl_max)
      .default(SESSION_TTL_S.ttl_default)
      .meta({ description: "It ends after this time, however busy it is." }),
    worker_id,
    dialog_policy: DialogPolicy.default("wait"),
    record: RecordMode.nullable().default(null).meta({
      description: "What is recorded of it; null leaves it to the fleet's setting.",
    }),
    egress,
    proxy,
    replay: z.string().max(64).nullable().default(null).meta({
      description:
        "Show the capture of this job, by its job_id: every request is answered from it, and nothing leaves the machine. Without a url the session begins at the job's.",
    }),
    replay_clock: ReplayClockOption,
    trace: z.boolean().default(false).meta({
      description:
        "Make a Playwright trace of its actions, for GET /sessions/{sid}/trace.zip once it has ended. Pages can notice it.",
    }),
    capture: z.boolean().default(false).meta({
      description:
        "Keep the bodies that its pages receive, for GET /sessions/{sid}/bodies/{sha256}; its HAR names them.",
    }),
    ...ownBrowserOptions,
    reconnect_s: z.int().min(RECONNECT_S.min).max(RECONNECT_S.max).nullable().default(null).meta({
      description:
        "End it with its last CDP client: at once when that client closes its connection, after so many seconds when the connection is lost. null: clients come and go.",
    }),
  })
  .refine(({ capture, record }) => !capture || record !== "off", {
    path: ["capture"],
    error: "needs a recording, which names the bodies: record must not be off",
  })
  .refine(({ replay, replay_clock }) => replay !== null || replay_clock === "now", NEEDS_REPLAY)
  .refine(({ replay, proxy }) => replay === null || proxy === null, {
    path: ["proxy"],
    error: "cannot be used with replay: nothing leaves the machine",
  })
  .openapi("CreateSession");
export type CreateSession = z.infer<typeof CreateSession>;

/** Somebody at a session now: at a viewer, or by a program over CDP or WebDriver. */
export const SessionWatcher = z.object({
  kind: z.enum(["viewer", "cdp", "webdriver"]),
  /** Of the token or link that let it in; null: it has none. */
  name: z.string().max(200).nullable(),
  mode: z.enum(["view", "control"]),
  since: z.string(),
  /** Whether it has sent input within the last seconds. */
  drives: z.boolean(),
});
export type SessionWatcher = z.infer<typeof SessionWatcher>;

/** A session as the API shows it (rules/sessions#session-record). `job_id`: the job that runs in it or left it open. */
export const Session = z
  .object({
    session_id: z.string(),
    state: z.enum(["active"]),
    worker_id: z.string(),
    lane_idx: z.int(),
    job_id: z.string().nullable(),
    headless: z.boolean(),
    egress: EgressOption.nullable().meta({
      description: "The restrictions that it, or its job, asked for in addition to its worker's.",
    }),
    proxy: ProxyOption.nullable().meta({
      description:
        "The proxy that it or its job named, or that of the host at which a session without a job began, its login as ***; null: the job's host or the worker decides.",
    }),
    replay: ReplayReport.nullable().meta({
      description: "The capture that answers its browser, and how that goes; null: the web does.",
    }),
    blocked: BlockedReport.nullable().optional().meta({
      description: "What was not requested, for a session that blocks requests.",
    }),
    trace: z.boolean().optional().meta({
      description:
        "Whether its actions are traced, for GET /sessions/{sid}/trace.zip once it has ended.",
    }),
    capture: z.boolean().optional().meta({
      description: "Whether the bodies that its pages receive are kept.",
    }),
    reconnect_s: z.number().nullable().optional().meta({
      description:
        "How long it waits for a CDP client whose connection was lost; null: it does not end with its clients.",
    }),
    novnc_url: z.string(),
    cdp_url: z.string(),
    created_at: z.string(),
    last_active_at: z.string(),
    /** Null while a job owns it: it ends with the job. */
    idle_ttl_s: z.number().nullable(),
    expires_at: z.string(),
    url: z.string(),
    title: z.string(),
    tabs: z.int(),
    /** Dialogs of its pages that nobody has answered; those pages are blocked. */
    dialogs: z.array(Dialog),
    watchers: z.array(SessionWatcher).optional().meta({
      description: "Who is at its viewer, or drives it over CDP or WebDriver, now.",
    }),
  })
  .openapi("Session");
export type Session = z.infer<typeof Session>;
/** A session that has ended (rules/sessions#past-sessions). `url` and `title` are those of its active tab at the end. */
export const PastSession = z
  .object({
    session_id: z.string(),
    state: z.enum(["ended"]),
    worker_id: z.string(),
    lane_idx: z.int(),
    job_id: z
      .string()
      .nullable()
      .meta({ description: "The job that left it open, or ran in it last." }),
    opened_by: z.string().nullable().meta({
      description:
        "The name of the token or link it was opened with, or the kind of caller; null: a job left it open.",
    }),
    headless: z.boolean(),
    created_at: z.string(),
    ended_at: z.string(),
    duration_ms: z.int(),
    end_reason: z.string(),
    url: z.string(),
    title: z.string(),
    actions: z.int(),
    recording: z
      .object({ state: z.enum(["live", "whole", "cut"]), mode: RecordMode, bytes: z.int() })
      .nullable()
      .optional()
      .meta({
        description:
          "What is recorded of it, for GET /sessions/{sid}/recording; null: nothing, or no longer.",
      }),
    thumbnail_href: z.string().nullable().optional().meta({
      description:
        "A small picture of what its recording shows last, for lists; null: there is none, or it is not there yet.",
    }),
  })
  .openapi("PastSession");
export type PastSession = z.infer<typeof PastSession>;

/** Query of GET /sessions. */
export const SessionListQuery = PageQuery.extend({
  status: z.enum(["active", "ended"]).default("active"),
  q: z
    .string()
    .max(500)
    .optional()
    .meta({ description: "A part of the address or the title, in any case" }),
  worker_id: z.string().max(64).optional().meta({ description: "Sessions on this worker" }),
});
export type SessionListQuery = z.infer<typeof SessionListQuery>;

export const SessionList = z
  .object({ sessions: z.array(z.union([Session, PastSession])), ...NextCursor })
  .openapi("SessionList");

/** Body of POST /jobs/{id}/screenshot/capture (rules/documents#screenshot-of-a-running-job). */
export const ScreenshotRequest = z.strictObject(picture).openapi("ScreenshotRequest");
export type ScreenshotRequest = z.infer<typeof ScreenshotRequest>;

/** Answer of every action. `url` and `title` are those of the active tab afterwards; `ms` is how long it took on the worker. */
export const ActionReply = z
  .object({
    ok: z.literal(true),
    result: z.unknown(),
    url: z.string(),
    title: z.string(),
    ms: z.number(),
  })
  .openapi("ActionReply");
export type ActionReply = z.infer<typeof ActionReply>;

/** What the page refused; next to `detail` in the body of a 422. */
export const ActionError = z
  .object({ name: z.string(), message: z.string(), stack: z.string().optional() })
  .openapi("ActionError");
export type ActionError = z.infer<typeof ActionError>;
export const ActionFailure = z
  .object({
    detail: z.unknown(),
    error: ActionError.optional(),
    screenshot_href: z.string().optional(),
  })
  .openapi("ActionFailure");

/** Result of `screenshot` and `pdf`, unless the Accept header asks for the bytes themselves. */
export const Picture = z.object({ mime: z.string(), content_base64: z.string() });

export const Tab = z.object({
  index: z.int(),
  url: z.string(),
  title: z.string(),
  active: z.boolean(),
});
export type Tab = z.infer<typeof Tab>;

export const CookieList = z.object({ cookies: z.array(SessionCookie) }).openapi("CookieList");
export type CookieList = z.infer<typeof CookieList>;
/** Body of PUT /sessions/{sid}/cookies: adds or replaces these, keeps the others. */
export const PutCookies = z
  .strictObject({ cookies: z.array(SessionCookie).min(1).max(10_000) })
  .openapi("PutCookies");

/** One request of a session's network log. `seq` counts from 1; times epoch ms; null what is not known yet. */
export const NetworkEntry = z
  .object({
    seq: z.int(),
    method: z.string(),
    url: z.string(),
    type: z.string(),
    status: z.int().nullable(),
    mime: z.string().nullable(),
    /** Bytes on the wire. */
    size: z.int().nullable(),
    started_at: z.number(),
    ttfb_ms: z.number().nullable(),
    ms: z.number().nullable(),
    error: z.string().nullable(),
  })
  .openapi("NetworkEntry");
export type NetworkEntry = z.infer<typeof NetworkEntry>;
/** `next` is the `since` of the next call; `dropped` counts entries that were older than the log keeps. */
export const NetworkLog = z
  .object({ entries: z.array(NetworkEntry), next: z.int(), dropped: z.int() })
  .openapi("NetworkLog");
export type NetworkLog = z.infer<typeof NetworkLog>;

/** A file the session's browser downloaded. `state` shows whether the file is still arriving. */
export const SessionFile = z
  .object({
    name: z.string(),
    size: z.int(),
    mime: z.string(),
    url: z.string(),
    state: z.enum(["in_progress", "completed", "canceled"]),
    href: z.string(),
    created_at: z.string(),
  })
  .openapi("SessionFile");
export type SessionFile = z.infer<typeof SessionFile>;
export const SessionFileList = z.object({ files: z.array(SessionFile) }).openapi("SessionFileList");
export type SessionFileList = z.infer<typeof SessionFileList>;

/** Body of POST /sessions/{sid}/profile/save. */
export const SaveProfile = z.strictObject({ name: ProfileName }).openapi("SaveProfile");
