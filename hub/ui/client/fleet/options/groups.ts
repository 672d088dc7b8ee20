import { FIELDS, type OptionField, type Options } from "./fields.ts";

/** What belongs together, in the order in which people need it. Options that are named nowhere come under "More". */
const GROUPS: { title: string; names: string[] }[] = [
  {
    title: "Waiting",
    names: [
      "wait_seconds",
      "settle_seconds",
      "idle_seconds",
      "max_wait_seconds",
      "post_click_seconds",
    ],
  },
  {
    title: "Scrolling",
    names: ["scroll", "scroll_step", "scroll_max", "scroll_early_after"],
  },
  {
    title: "What is kept",
    names: [
      "capture_assets",
      "download_video",
      "min_asset_size_bytes",
      "max_download_bytes",
      "final_state",
      "record",
    ],
  },
  { title: "Recipes and request", names: ["fetch_strategy", "referer", "cookies_from"] },
  {
    title: "Network",
    names: [
      "egress",
      "proxy",
      "block",
      "http_credentials",
      "ignore_https_errors",
      "certificate_authorities",
      "replay",
      "replay_clock",
    ],
  },
  {
    title: "Browser",
    names: [
      "headless",
      "dialog_policy",
      "keep_session",
      "attach_to_job",
      "attach",
      "clone_chrome_profile",
    ],
  },
  {
    title: "What pages see",
    names: [
      "device",
      "viewport",
      "user_agent",
      "locale",
      "timezone",
      "color_scheme",
      "geolocation",
      "permissions",
      "extra_headers",
      "init_scripts",
      "javascript",
    ],
  },
  {
    title: "Scripts",
    names: [
      "max_codegen_attempts",
      "attempt_timeout_s",
      "prove_in_replay",
      "proof_capture",
      "trace",
    ],
  },
];

/** Shown above the groups: what nearly every job of a mode is about. */
const SIMPLE = ["mode", "goal", "codegen_engine", "rerun_from", "code", "use_profile"];

/** Options that apply only to some modes. */
const MODES: Record<string, string[]> = {
  goal: ["codegen-loop"],
  codegen_engine: ["codegen-loop"],
  max_codegen_attempts: ["codegen-loop"],
  attempt_timeout_s: ["codegen-loop", "rerun"],
  prove_in_replay: ["codegen-loop"],
  proof_capture: ["codegen-loop"],
  trace: ["codegen-loop", "rerun"],
  rerun_from: ["rerun"],
  code: ["rerun"],
  keep_session: ["fetch"],
  attach: ["fetch"],
};

const byName = new Map(FIELDS.map((field) => [field.name, field]));
const fieldsOf = (names: string[]): OptionField[] =>
  names.flatMap((name) => byName.get(name) ?? []);

const placed = new Set([...SIMPLE, ...GROUPS.flatMap(({ names }) => names)]);

export interface OptionGroup {
  title: string;
  fields: OptionField[];
}

const simple = fieldsOf(SIMPLE);
const folded: OptionGroup[] = [
  ...GROUPS.map(({ title, names }) => ({ title, fields: fieldsOf(names) })),
  { title: "More", fields: FIELDS.filter(({ name }) => !placed.has(name)) },
];

/** What is shown: options of another mode only where they are set, so that they can be removed. */
export function shownOptions(given: Options, mode: string) {
  const shown = ({ name }: OptionField) => name in given || (MODES[name]?.includes(mode) ?? true);
  return {
    simple: simple.filter(shown),
    groups: folded
      .map(({ title, fields }) => ({ title, fields: fields.filter(shown) }))
      .filter(({ fields }) => fields.length > 0),
  };
}
