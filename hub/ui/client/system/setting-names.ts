/** What settings are called for people, in the order in which they are shown. A key that is not here is shown as it is. */

export interface SettingName {
  name: string;
  group: string;
  /** Of its number. */
  unit?: string;
}

export const FLEET_NAMES: Record<string, SettingName> = {
  retention_days: { name: "Keep captures for", group: "Captures", unit: "days" },
  retention_max_bytes: { name: "Space for captures", group: "Captures", unit: "bytes" },
  retention_max_count: { name: "Captures to keep", group: "Captures", unit: "jobs" },
  min_asset_size_bytes: { name: "Smallest asset to keep", group: "Captures", unit: "bytes" },
  record: { name: "What is recorded", group: "Recordings" },
  recording_days: { name: "Keep recordings for", group: "Recordings", unit: "days" },
  recording_max_bytes: { name: "Space for recordings", group: "Recordings", unit: "bytes" },
  recording_max_count: { name: "Recordings to keep", group: "Recordings", unit: "recordings" },
  default_engine: { name: "Engine", group: "Scripts and engines" },
  judge_engine: { name: "Engine that judges", group: "Scripts and engines" },
  max_concurrent_runs: {
    name: "Scripted jobs at a time",
    group: "Scripts and engines",
    unit: "per hub",
  },
  lane_reserve_s: { name: "Hold the last free lane for", group: "Lanes", unit: "seconds" },
  browser_options: { name: "What pages see of browsers", group: "Lanes" },
  preview_interval_s: { name: "Age of previews", group: "Lanes", unit: "seconds" },
  webhook_url: { name: "Webhook for every job", group: "Other programs" },
  cors_origins: { name: "Origins that may call", group: "Other programs" },
};

const PIPELINE_NAMES: Record<string, string> = {
  admin_password: "Administrator's password",
  api_token: "API token",
  cors_origins: "Origins that may call",
  data_dir: "Data directory",
  db_url: "Database",
  deploy_argv: "Command of a deploy",
  deploy_timeout_s: "Longest deploy",
  llm_default_engine: "Engine to test",
  llm_engines: "Engines",
  llm_timeout_s: "Wait for an engine",
  log_level: "Level on standard error",
  objects_url: "Object store",
  restart_argv: "Command that restarts a worker",
  service_log_days: "Keep service logs for",
  service_log_level: "Level of service logs",
  service_log_max_rows: "Lines of service logs",
  ssh_hosts: "Hosts reached over SSH",
  watchdog_silent_s: "Restart a silent worker after",
  worker_secret: "Secret of workers",
};

export const pipelineName = (key: string): string => PIPELINE_NAMES[key] ?? key;

const UNITS: [RegExp, string][] = [
  [/_s$/, "s"],
  [/_days$/, "days"],
  [/_rows$/, "lines"],
];

/** Of a setting of the pipeline, by its key. */
export const unitOf = (key: string): string =>
  UNITS.find(([ending]) => ending.test(key))?.[1] ?? "";
