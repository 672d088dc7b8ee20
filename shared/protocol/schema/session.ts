import { z } from "@hono/zod-openapi";
import { EgressOption } from "../egress.ts";
import {
  ACTION_TIMEOUT_S,
  AGENT_STEPS,
  ENGINE_ACTION_TIMEOUT_S,
  MAX_CODE_BYTES,
  MAX_PROMPT_BYTES,
  MAX_URL_LENGTH,
  SESSION_TTL_S,
} from "../limits.ts";
import { isMasked, ProxyOption } from "../proxy.ts";
import { SessionCookie } from "./cookie.ts";
import { Dialog, DialogPolicy } from "./dialog.ts";
import { RegistrySlug } from "./engine.ts";
import { TargetUrl } from "./job.ts";
import { NextCursor } from "./page.ts";
import { ProfileName } from "./profile.ts";
import { RecipeAction } from "./recipe.ts";

const idle_ttl_s = z.int().min(SESSION_TTL_S.idle_min).max(SESSION_TTL_S.idle_max);

export const Viewport = z.strictObject({
  width: z.int().min(100).max(7_680),
  height: z.int().min(100).max(4_320),
});
export type Viewport = z.infer<typeof Viewport>;

/** A session's first page: a web page, or the blank one. */
const StartUrl = z.union([z.literal("about:blank"), TargetUrl]);

/** Body of POST /sessions (rules/sessions#open-a-session). Durations in seconds. */
export const CreateSession = z
  .strictObject({
    url: StartUrl.nullable().default(null),
    use_profile: z
      .string()
      .regex(/^[a-z0-9_-]{1,64}$/, "must be made of a-z, 0-9, hyphen and underscore")
      .nullable()
      .default(null),
    headless: z.boolean().default(false),
    idle_ttl_s: idle_ttl_s.default(SESSION_TTL_S.idle_default),
    ttl_s: z
      .int()
      .min(SESSION_TTL_S.idle_min)
      .max(SESSION_TTL_S.ttl_max)
      .default(SESSION_TTL_S.ttl_default),
    worker_id: z.string().max(64).nullable().default(null),
    viewport: Viewport.nullable().default(null),
    dialog_policy: DialogPolicy.default("wait"),
    egress: EgressOption.nullable().default(null).meta({
      description:
        "Where the browser may connect to, on top of what its worker allows: it can be narrowed, never widened.",
    }),
    proxy: ProxyOption.nullable()
      .default(null)
      .refine((proxy) => proxy === null || !isMasked(proxy), "has *** for its login")
      .meta({
        description:
          "The proxy that the browser goes out through, in the place of the host's and the worker's: its URL, or server, username, password and bypass.",
      }),
  })
  .openapi("CreateSession");
export type CreateSession = z.infer<typeof CreateSession>;

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
      description: "What it, or its job, asked for on top of what its worker allows.",
    }),
    proxy: ProxyOption.nullable().meta({
      description:
        "The proxy that it or its job named, or the host at which a session of its own began, its login as ***; null: the job's host or the worker decides.",
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
    /** What its pages ask and nobody has answered; those pages stand still. */
    dialogs: z.array(Dialog),
  })
  .openapi("Session");
export type Session = z.infer<typeof Session>;
export const SessionList = z
  .object({ sessions: z.array(Session), ...NextCursor })
  .openapi("SessionList");

const selector = z.string().min(1).max(4_096);
const button = z.enum(["left", "middle", "right"]).default("left");
const load_state = z.enum(["load", "domcontentloaded", "networkidle", "commit"]);
/** Every action takes it, in seconds. */
const timeout = {
  timeout_s: z.number().min(0.1).max(ACTION_TIMEOUT_S.max).default(ACTION_TIMEOUT_S.default),
};
const args = <S extends z.ZodRawShape>(shape: S) => z.strictObject({ ...shape, ...timeout });
const none = args({});
/** The engine of an action that calls one. `auto`: the promoted one, else the only one. */
const engineArgs = <S extends z.ZodRawShape>(shape: S, timeout_s: number) =>
  z.strictObject({
    ...shape,
    engine: RegistrySlug.default("auto"),
    timeout_s: timeout.timeout_s.default(timeout_s),
  });
const byteLength = (value: unknown): number =>
  new TextEncoder().encode(typeof value === "string" ? value : JSON.stringify(value)).length;
const fitsPrompt = (value: unknown): boolean => byteLength(value) <= MAX_PROMPT_BYTES;
const too_long = { error: `must be at most ${MAX_PROMPT_BYTES} bytes` };
const prompt = z.string().min(1).refine(fitsPrompt, too_long);
/** The frame that an action goes to: selector of its iframe, from outside in for nested ones. Else the page itself. */
const frame = z.union([selector, z.array(selector).min(1).max(10)]).optional();
const in_frame = args({ frame });
/** From the element's upper left corner, in CSS pixels; else its middle. */
const position = z.strictObject({ x: z.number(), y: z.number() }).optional();
/** A point of the page as it is shown, in CSS pixels. */
const point = { x: z.number().optional(), y: z.number().optional() };
const picture = {
  format: z.enum(["png", "jpeg", "webp"]).default("png"),
  quality: z.int().min(1).max(100).optional(),
  full_page: z.boolean().default(false),
  selector: selector.optional(),
};
const shot = { ...picture, frame };
const text = z.string().max(1_000_000);

/** Body of POST /jobs/{id}/screenshot/capture (rules/documents#screenshot-of-a-running-job). */
export const ScreenshotRequest = z.strictObject(picture).openapi("ScreenshotRequest");
export type ScreenshotRequest = z.infer<typeof ScreenshotRequest>;

/** A file given to an `input type=file`: inline, or (hub to worker) already on the worker under its upload id. */
export const InputFile = z.strictObject({
  name: z.string().min(1).max(255),
  mime: z.string().max(255).default("application/octet-stream"),
  content_base64: z.base64().max(3_000_000).optional(),
  upload_id: z.string().max(64).optional(),
});
export type InputFile = z.infer<typeof InputFile>;

/** Arguments of every POST /sessions/{sid}/<action> (rules/session-actions#the-actions); names and meanings are Playwright's. */
export const SESSION_ACTIONS = {
  navigate: args({
    url: StartUrl,
    wait_until: load_state.default("load"),
    referer: z.string().max(MAX_URL_LENGTH).optional(),
  }),
  click: args({
    selector: selector.optional(),
    position,
    ...point,
    button,
    click_count: z.int().min(1).max(10).default(1),
    /** Waits for what the click causes: the popup becomes the active tab, the download is whole. */
    wait_for: z.enum(["popup", "download"]).optional(),
    frame,
  }).refine((a) => (a.selector !== undefined) !== (a.x !== undefined && a.y !== undefined), {
    error: "give either selector, or x and y",
  }),
  fill: args({ selector, text, frame }),
  type: args({
    text,
    selector: selector.optional(),
    delay_ms: z.number().min(0).max(10_000).default(0),
    frame,
  }),
  press: args({ key: z.string().min(1).max(100), selector: selector.optional(), frame }),
  hover: args({ selector, position, frame }),
  drag_and_drop: args({
    source: selector,
    target: selector,
    source_position: position,
    target_position: position,
    frame,
  }),
  mouse: args({
    op: z.enum(["move", "down", "up"]),
    ...point,
    button,
    /** Moves on the way to the point. */
    steps: z.int().min(1).max(1_000).default(1),
  })
    .refine((a) => (a.x === undefined) === (a.y === undefined), { error: "x and y go together" })
    .refine((a) => a.op !== "move" || a.x !== undefined, { error: "move needs x and y" }),
  select_option: args({ selector, values: z.array(z.string().max(10_000)).max(1_000), frame }),
  check: args({ selector, frame }),
  uncheck: args({ selector, frame }),
  scroll: args({
    amount: z.number().min(-1e7).max(1e7).optional(),
    selector: selector.optional(),
    frame,
  }).refine((a) => (a.selector !== undefined) !== (a.amount !== undefined), {
    error: "give either amount or selector",
  }),
  wait: args({
    selector: selector.optional(),
    state: z.enum(["attached", "detached", "visible", "hidden"]).optional(),
    load_state: load_state.exclude(["commit"]).optional(),
    seconds: z.number().min(0).max(ACTION_TIMEOUT_S.max).optional(),
    frame,
  }).refine(
    (a) => a.selector !== undefined || a.load_state !== undefined || a.seconds !== undefined,
    {
      error: "give selector, load_state or seconds",
    },
  ),
  evaluate: args({
    code: z.string().min(1).max(MAX_CODE_BYTES),
    /** Any JSON value. A recursive schema has no place in the OpenAPI document. */
    arg: z.unknown().optional(),
    frame,
  }),
  set_input_files: args({ selector, files: z.array(InputFile).max(100), frame }),
  screenshot: args(shot).refine((a) => a.frame === undefined || a.selector !== undefined, {
    path: ["frame"],
    error: "needs selector",
  }),
  pdf: args({
    format: z.string().max(20).default("A4"),
    landscape: z.boolean().default(false),
    print_background: z.boolean().default(true),
  }),
  content: in_frame,
  text: args({ selector: selector.optional(), frame }),
  markdown: args({ selector: selector.optional(), frame }),
  links: in_frame,
  back: none,
  forward: none,
  reload: args({ wait_until: load_state.default("load") }),
  tabs: none,
  tab: args({
    op: z.enum(["new", "close", "select"]),
    index: z.int().min(0).max(1_000).optional(),
    url: StartUrl.optional(),
  }),
  dialogs: none,
  dialog: args({
    op: z.enum(["accept", "dismiss"]),
    /** What is typed into a prompt; its default when left out. */
    prompt_text: text.optional(),
    /** As `dialogs` tells it; the active tab's when left out, else the oldest. */
    dialog_id: z.string().max(64).optional(),
  }).refine((a) => a.op === "accept" || a.prompt_text === undefined, {
    path: ["prompt_text"],
    error: "goes with accept",
  }),
  downloads: none,
  read_download: args({
    /** As `downloads` tells it; the newest when left out. */
    name: z.string().min(1).max(255).optional(),
  }),
  keepalive: args({ idle_ttl_s: idle_ttl_s.optional() }),
  recipe: args({ actions: z.array(RecipeAction).min(1).max(500) }),
  ask: engineArgs(
    {
      prompt,
      /** The answer is JSON of this JSON schema. */
      schema: z.record(z.string(), z.unknown()).refine(fitsPrompt, too_long).optional(),
      /** Whether the engine sees the page; by default one of kind vision-chat does. */
      screenshot: z.boolean().optional(),
    },
    ENGINE_ACTION_TIMEOUT_S.ask,
  ),
  agent: engineArgs(
    {
      goal: prompt,
      max_steps: z.int().min(AGENT_STEPS.min).max(AGENT_STEPS.max).default(AGENT_STEPS.default),
    },
    ENGINE_ACTION_TIMEOUT_S.agent,
  ),
} as const;
export type SessionActionName = keyof typeof SESSION_ACTIONS;
export type SessionActionArgs<A extends SessionActionName> = z.infer<(typeof SESSION_ACTIONS)[A]>;
export type SessionActionInput<A extends SessionActionName> = z.input<(typeof SESSION_ACTIONS)[A]>;

/** Answer of every action. `url` and `title` are the active tab's after it; `ms` is what it took on the worker. */
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

/** What the page refused: next to `detail` in the body of a 422. */
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

/** A file the session's browser downloaded. `state` tells a file that is still coming in. */
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
