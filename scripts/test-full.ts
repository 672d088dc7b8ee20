import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Group, runGroup, summarize, type Tally } from "./test-group.ts";

/** The tests that the suite runs in short form, at the sizes a release is judged by. Takes most of an hour. */
const FULL: Group[] = [
  {
    name: "conformance",
    files: ["test/e2e/capture-conformance.test.ts"],
    silent_s: 1_200,
    env: { CAPTURE_RUNS: "10" },
  },
  {
    name: "replays of the task set",
    files: ["test/e2e/replay-proof.test.ts"],
    silent_s: 900,
    env: { REPLAY_ALL: "1" },
  },
  {
    name: "bodies and lanes",
    files: ["test/e2e/fetch-rules.test.ts", "test/e2e/lanes{,-crashes}.test.ts"],
    silent_s: 600,
    env: { LARGE_BODY_MB: "1024", LANE_RESETS: "20" },
  },
  {
    name: "large bodies again and again",
    files: ["test/e2e/fetch-rules.test.ts"],
    silent_s: 1_200,
    env: { LARGE_BODY_MB: "280", LARGE_RUNS: "50" },
  },
  {
    name: "heavy pages",
    files: ["test/e2e/heavy-pages.test.ts"],
    silent_s: 600,
    env: { HEAVY_PAGES: "500" },
  },
  {
    name: "slow bodies",
    files: ["test/e2e/fetch-ends.test.ts"],
    silent_s: 600,
    env: { DRIP_SECONDS: "60" },
  },
  {
    name: "objects in S3",
    files: ["test/contract/objects-s3.test.ts"],
    silent_s: 900,
    env: { S3_BODY_MB: "1024" },
  },
  {
    name: "the API on S3",
    files: [
      "test/api/{job-files,job-profiles,job-uploads,job-zip,object-proxy,plugin-storage,plugins,profiles,upload-batch}.test.ts",
    ],
    silent_s: 600,
    env: { FLOTILLA_TEST_OBJECTS: "s3" },
  },
  {
    name: "soak",
    files: ["test/chaos/soak.test.ts"],
    silent_s: 1_800,
    env: { SOAK_JOBS: "200" },
  },
  {
    name: "sessions",
    files: ["test/chaos/sessions.test.ts"],
    silent_s: 900,
    env: { SESSIONS_SOAK_S: "300" },
  },
  {
    name: "chaos",
    files: ["test/chaos/kill.test.ts"],
    silent_s: 900,
    env: { CHAOS_JOBS: "50" },
  },
  {
    name: "update",
    files: ["test/e2e/update.test.ts"],
    silent_s: 1_200,
    env: { UPDATE_ROUNDS: "5" },
  },
  {
    name: "fleet of hubs",
    files: ["test/chaos/fleet.test.ts"],
    silent_s: 1_800,
    env: { FLEET_CHAOS_JOBS: "300" },
  },
  {
    name: "fleet day",
    files: ["test/flow/fleet-day.test.ts"],
    silent_s: 600,
    env: { FLEET_DAY_HOURS: "24" },
  },
  {
    name: "pipeline",
    files: ["test/chaos/pipeline.test.ts"],
    silent_s: 1_200,
    env: { PIPELINE_CHAOS_TASKS: "20000" },
  },
];

const scratch = mkdtempSync(join(tmpdir(), "flotilla-tests-"));
const tallies: Tally[] = [];
try {
  for (const group of FULL) tallies.push(await runGroup(group, scratch));
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
process.exit(summarize(tallies));
