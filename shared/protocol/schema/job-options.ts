import { z } from "@hono/zod-openapi";
import { MASK } from "#shared/kit/hide-credentials.ts";
import { EgressOption } from "../egress.ts";
import {
  ATTEMPT_TIMEOUT_S,
  CODEGEN_ATTEMPTS,
  DIALOG_WAIT_S,
  MAX_CODE_BYTES,
  MAX_URL_LENGTH,
  MAX_WAIT_S,
} from "../limits.ts";
import { isMasked, ProxyOption } from "../proxy.ts";
import { BROWSER_OPTION_NAMES, ownBrowserOptions } from "./browser-options.ts";
import { DialogPolicy } from "./dialog.ts";
import { Recipe } from "./recipe.ts";
import { RecordMode } from "./record-mode.ts";
import { NEEDS_REPLAY, ReplayClockOption } from "./replay.ts";

const JOB_MODES = ["fetch", "codegen-loop", "rerun"] as const;
export const JobMode = z.enum(JOB_MODES);
export type JobMode = z.infer<typeof JobMode>;

/** Forms and the API's documents show the description and the unit next to the bounds. */
const seconds = (description: string) => ({ description, "x-unit": "s" });
const pixels = (description: string) => ({ description, "x-unit": "px" });
const bytes = (description: string) => ({ description, "x-unit": "bytes" });

const nullableText = (max: number) => z.string().max(max).nullable().default(null);
const waitSeconds = (fallback: number) => z.number().min(0).max(MAX_WAIT_S).default(fallback);

/** Whether it is a valid `[HOST:]PORT`, with an address or a name as HOST. */
function namesPlace(raw: string): boolean {
  const cut = raw.lastIndexOf(":");
  const port = Number(raw.slice(cut + 1));
  return port >= 1 && port <= 65_535 && (cut < 0 || URL.canParse(`http://${raw}`));
}

/** At most one of these may be set (rules/job-options#one-source-of-the-browser). */
const BROWSER_SOURCES = ["use_profile", "attach", "clone_chrome_profile", "attach_to_job"] as const;

/** They are about the web, or about a browser that is open already. */
const NOT_IN_REPLAY = ["attach", "attach_to_job", "proxy", "download_video"] as const;

/** Browsers that somebody else has opened. */
const OTHERS_BROWSERS = ["attach", "attach_to_job"] as const;

/** The replay's browser starts anew, from nothing or from a profile. */
const NOT_WITH_PROOF = ["attach_to_job", "clone_chrome_profile"] as const;

interface ProofOptions {
  mode: JobMode;
  prove_in_replay: boolean;
  proof_capture: string | null;
  replay: string | null;
  attach_to_job: string | null;
  clone_chrome_profile: string | null;
  capture_assets: boolean;
  max_codegen_attempts: number;
}

/** What makes a proof in replay impossible or pointless, by field (rules/scripts#proof-in-replay). */
function proofTroubles(o: ProofOptions): [field: string, message: string][] {
  if (!o.prove_in_replay)
    return o.proof_capture === null
      ? []
      : [["proof_capture", "is only for use with prove_in_replay"]];
  const troubles: [string, string][] = [];
  if (o.mode !== "codegen-loop")
    troubles.push(["prove_in_replay", "is only for mode codegen-loop: elsewhere nobody judges"]);
  if (o.replay !== null)
    troubles.push([
      "prove_in_replay",
      "cannot be used with replay: the job never goes to the site",
    ]);
  for (const name of NOT_WITH_PROOF)
    if (o[name] !== null)
      troubles.push([name, "cannot be used with prove_in_replay: a replay has its own browser"]);
  if (o.proof_capture !== null) return troubles;
  const captures = "with prove_in_replay, unless proof_capture names a capture";
  if (!o.capture_assets)
    troubles.push([
      "capture_assets",
      `must be true ${captures}: without bodies nothing is replayed`,
    ]);
  if (o.max_codegen_attempts < 2)
    troubles.push([
      "max_codegen_attempts",
      `must be at least 2 ${captures}: the first script runs on the site`,
    ]);
  return troubles;
}

/**
 * Options of a job (rules/job-options#the-options), every default filled in after parsing. Durations in seconds, sizes in
 * bytes.
 */
export const JobOptions = z
  .strictObject({
    mode: JobMode.default("fetch").meta({
      description:
        "fetch opens the page and keeps what it loads. codegen-loop lets an engine write and fix a script until the goal is reached. rerun runs an existing script.",
    }),
    goal: nullableText(20_000).meta({
      description:
        "What the script should achieve, in plain words. Required when mode is codegen-loop.",
    }),
    max_codegen_attempts: z
      .int()
      .min(CODEGEN_ATTEMPTS.min)
      .max(CODEGEN_ATTEMPTS.max)
      .default(CODEGEN_ATTEMPTS.default)
      .meta({
        description:
          "How many scripts the engine may write; for each it sees what went wrong with the one before.",
      }),
    attempt_timeout_s: z
      .int()
      .min(ATTEMPT_TIMEOUT_S.min)
      .max(ATTEMPT_TIMEOUT_S.max)
      .default(ATTEMPT_TIMEOUT_S.default)
      .meta(seconds("The time limit for one run of a script.")),
    rerun_from: z
      .string()
      .max(200)
      .regex(
        /^[A-Za-z0-9_-]+(\/attempts\/[1-9][0-9]*)?$/,
        "must be <job_id> or <job_id>/attempts/<N>",
      )
      .nullable()
      .default(null)
      .meta({
        description:
          "The script of an earlier job: its job_id, or job_id/attempts/N for one of several. Overrides code.",
      }),
    code: z
      .string()
      .refine((s) => new TextEncoder().encode(s).length <= MAX_CODE_BYTES, {
        error: `must be at most ${MAX_CODE_BYTES} bytes`,
      })
      .nullable()
      .default(null)
      .meta({
        description: `A script to run, TypeScript or JavaScript, at most ${MAX_CODE_BYTES / 1024} KiB.`,
      }),
    wait_seconds: z
      .int()
      .min(0)
      .max(MAX_WAIT_S)
      .default(20)
      .meta(seconds("How long the server may take to answer, and then the page to load.")),
    settle_seconds: waitSeconds(0).meta(
      seconds("A pause after the page has loaded, before anything else happens."),
    ),
    idle_seconds: waitSeconds(3).meta(
      seconds("The page is considered done once its network has been silent for this long."),
    ),
    max_wait_seconds: waitSeconds(60).meta(seconds("The longest wait for that silence.")),
    post_click_seconds: waitSeconds(5).meta(seconds("A pause after each click of a recipe.")),
    scroll: z.boolean().default(false).meta({
      description:
        "Scroll down to the end, so that the page loads content that it shows only there.",
    }),
    scroll_step: z.int().min(1).max(100_000).default(50).meta(pixels("How far one step scrolls.")),
    scroll_max: z
      .int()
      .min(0)
      .max(10_000_000)
      .default(3000)
      .meta(pixels("How far to scroll in total.")),
    scroll_early_after: waitSeconds(5).meta(
      seconds("Stop scrolling when nothing new has loaded for this long."),
    ),
    download_video: z.boolean().default(false).meta({
      description:
        "Watch the network of frames too, and download the videos found there. Always keeps assets.",
    }),
    capture_assets: z.boolean().default(true).meta({
      description: "Keep what the page loads: images, video, audio, documents, scripts.",
    }),
    min_asset_size_bytes: z
      .int()
      .min(0)
      .default(0)
      .meta(bytes("Skip smaller assets. 0 uses the fleet's own limit.")),
    final_state: z.boolean().default(true).meta({
      description:
        "Take pictures of the page at the end: the whole page, and a small one for lists.",
    }),
    headless: z
      .boolean()
      .default(false)
      .meta({ description: "Run the browser without a display." }),
    dialog_policy: DialogPolicy.default("dismiss").meta({
      description: `What happens to a dialog that the page opens (alert, confirm, prompt). wait leaves it to the viewer, a script or a CDP client for ${DIALOG_WAIT_S} s. dismiss and accept answer immediately.`,
    }),
    referer: z
      .string()
      .max(MAX_URL_LENGTH)
      .regex(/^\P{Cc}*$/u, "must not contain control characters")
      .nullable()
      .default(null)
      .meta({ description: "The Referer that the browser sends." }),
    cookies_from: nullableText(253).meta({
      description: "Use the cookies stored for this host.",
    }),
    use_profile: z
      .string()
      .regex(/^[a-z0-9_-]{1,64}$/, "must consist of a-z, 0-9, hyphen and underscore")
      .nullable()
      .default(null)
      .meta({
        description:
          "An uploaded browser profile. If left out, the default profile is used if there is one.",
      }),
    attach: z
      .string()
      .max(300)
      .regex(/^([^\s:/@]+:|\[[0-9a-fA-F:]+\]:)?[0-9]{1,5}$/, "must be [HOST:]PORT")
      .refine(namesPlace, "must be [HOST:]PORT with a PORT from 1 to 65535")
      .nullable()
      .default(null)
      .meta({
        description:
          "A running browser, by its remote debugging port: PORT or HOST:PORT. Only for mode fetch.",
      }),
    clone_chrome_profile: nullableText(200).meta({
      description:
        "Copy this profile of the browser on the hub's own machine, such as Default. Needs a worker on that machine.",
    }),
    attach_to_job: nullableText(64).meta({
      description:
        "Continue in the browser of an earlier job, by its job_id, with its cookies and logins.",
    }),
    codegen_engine: nullableText(64).meta({
      description: "The engine that writes the script. If left out, the default engine does.",
    }),
    fetch_strategy: z.enum(["recipe", "normal"]).default("recipe").meta({
      description:
        "recipe applies the host's recipe that matches the address. normal ignores recipes.",
    }),
    /** Set by the hub from the matching host recipe; `SubmitJob` refuses it. */
    fetch_recipe: Recipe.nullable()
      .default(null)
      .meta({ description: "Set by the hub from the matching host recipe; clients leave it out." }),
    record: RecordMode.nullable().default(null).meta({
      description:
        "What is recorded of the job: off, events (what happened), or screen (that, and what the browser showed). Null leaves it to the fleet's setting.",
    }),
    trace: z.boolean().default(false).meta({
      description:
        "Make a Playwright trace of the script's run, for trace.zip; of several attempts, the last one. Pages can notice it. Not for mode fetch.",
    }),
    egress: EgressOption.nullable().default(null).meta({
      description:
        "Where the browser may connect while the job runs. It can narrow what its worker allows, never widen it.",
    }),
    proxy: ProxyOption.nullable().default(null).meta({
      description:
        "The proxy for the browser and for downloads of videos, instead of the host's or the worker's: its URL, or server, username, password and bypass. Records show its login as ***.",
    }),
    replay: nullableText(64).meta({
      description:
        "Answer every request of the browser from the capture of this job, by its job_id. Nothing leaves the machine; what the capture does not have fails, and is listed.",
    }),
    replay_clock: ReplayClockOption,
    prove_in_replay: z.boolean().default(false).meta({
      description:
        "Run each script in a replay first, and on the site only if the same judge is satisfied there. The first script runs on the site, for the capture; with proof_capture none does. Needs a second lane. Only for mode codegen-loop.",
    }),
    proof_capture: nullableText(64).meta({
      description:
        "The job whose capture prove_in_replay uses, by its job_id, instead of what this job captures itself. The site is not even opened before a script is proved.",
    }),
    ...ownBrowserOptions,
    keep_session: z.boolean().default(false).meta({
      description:
        "Leave browser and session open after the job, so that a person can continue in the viewer. Only for mode fetch.",
    }),
  })
  .superRefine((o, ctx) => {
    const fail = (field: string, message: string) =>
      ctx.addIssue({ code: "custom", path: [field], message });
    const sources = BROWSER_SOURCES.filter((name) => o[name] !== null);
    for (const name of sources.slice(1))
      fail(
        name,
        `cannot be combined with ${sources[0]}: at most one of ${BROWSER_SOURCES.join(", ")}`,
      );
    if (o.mode === "codegen-loop" && !o.goal?.trim())
      fail("goal", "is required when mode is codegen-loop");
    if (o.mode === "rerun" && o.rerun_from === null && !o.code?.trim())
      fail("rerun_from", "or code is required when mode is rerun");
    if (o.replay !== null)
      for (const name of NOT_IN_REPLAY)
        if (o[name]) fail(name, "cannot be used with replay: nothing leaves the machine");
    if (o.replay === null && o.replay_clock !== "now") fail("replay_clock", NEEDS_REPLAY.error);
    for (const [field, message] of proofTroubles(o)) fail(field, message);
    if (o.trace && o.mode === "fetch")
      fail("trace", "is only for modes rerun and codegen-loop: a trace shows what a script does");
    if (o.trace && o.attach_to_job !== null)
      fail("trace", "cannot be used with attach_to_job: open the session itself with trace");
    if (o.keep_session && o.mode !== "fetch") fail("keep_session", "is only for mode fetch");
    if (o.attach !== null && o.proxy !== null)
      fail(
        "proxy",
        "cannot be used with attach: that browser connects the way its owner started it",
      );
    const borrowed = OTHERS_BROWSERS.find((name) => o[name] !== null);
    if (borrowed)
      for (const name of BROWSER_OPTION_NAMES.filter((one) => o[one] !== null))
        fail(name, `cannot be used with ${borrowed}: that browser stays as it was opened`);
    // Only its owner may act in a browser that is not the fleet's.
    if (o.attach !== null && o.mode !== "fetch") fail("attach", "is only for mode fetch");
  })
  .transform((o) => ({
    ...o,
    // Video needs the captured assets (rules/job-options#videos-need-assets); rules/job-options#rerun-from-wins-over-code.
    capture_assets: o.capture_assets || o.download_video,
    code: o.rerun_from === null ? o.code : null,
  }))
  .openapi("JobOptions");
export type JobOptions = z.infer<typeof JobOptions>;

/** JobOptions as clients give them. */
export const SubmitOptions = JobOptions.refine((o) => o.fetch_recipe === null, {
  path: ["fetch_recipe"],
  error: "is set by the hub, not by clients",
}).refine((o) => o.proxy === null || !isMasked(o.proxy), {
  path: ["proxy"],
  error: `has ${MASK} for its login: records do not show the login, so it must be given again`,
});
