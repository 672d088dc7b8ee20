// Written by scripts/gen-migrations.ts.
import pg0 from "./pg/0000_init.sql" with { type: "text" };
import pg1 from "./pg/0001_hosts_profiles.sql" with { type: "text" };
import pg2 from "./pg/0002_pipeline.sql" with { type: "text" };
import pg3 from "./pg/0003_pull_workers.sql" with { type: "text" };
import pg4 from "./pg/0004_operations.sql" with { type: "text" };
import pg5 from "./pg/0005_fleet_of_workers.sql" with { type: "text" };
import pg6 from "./pg/0006_deploy_outcomes.sql" with { type: "text" };
import pg7 from "./pg/0007_runs_workload_failed.sql" with { type: "text" };
import pg8 from "./pg/0008_schedule_take.sql" with { type: "text" };
import pg9 from "./pg/0009_scripts.sql" with { type: "text" };
import pg10 from "./pg/0010_executors_and_notes.sql" with { type: "text" };
import pg11 from "./pg/0011_rate_claims.sql" with { type: "text" };
import pg12 from "./pg/0012_leases_frames_and_bounds.sql" with { type: "text" };
import pg13 from "./pg/0013_hub_of_job.sql" with { type: "text" };
import pg14 from "./pg/0014_access_tokens.sql" with { type: "text" };
import pg15 from "./pg/0015_proxies.sql" with { type: "text" };
import pg16 from "./pg/0016_audit.sql" with { type: "text" };
import pg17 from "./pg/0017_sessions.sql" with { type: "text" };
import pg18 from "./pg/0018_final_state.sql" with { type: "text" };
import pg19 from "./pg/0019_recordings.sql" with { type: "text" };
import pg20 from "./pg/0020_watches.sql" with { type: "text" };
import pg21 from "./pg/0021_host_record.sql" with { type: "text" };
import pg22 from "./pg/0022_cpu_minutes.sql" with { type: "text" };
import pg23 from "./pg/0023_recording_bodies.sql" with { type: "text" };
import pg24 from "./pg/0024_workload_code.sql" with { type: "text" };
import pg25 from "./pg/0025_failures.sql" with { type: "text" };
import pg26 from "./pg/0026_find.sql" with { type: "text" };
import pg27 from "./pg/0027_attempt_proof.sql" with { type: "text" };
import pg28 from "./pg/0028_host_browser_options.sql" with { type: "text" };
import pg29 from "./pg/0029_once_keys.sql" with { type: "text" };
import pg30 from "./pg/0030_document_bytes.sql" with { type: "text" };
import pg31 from "./pg/0031_recording_screen.sql" with { type: "text" };
import sqlite0 from "./sqlite/0000_init.sql" with { type: "text" };
import sqlite1 from "./sqlite/0001_hosts_profiles.sql" with { type: "text" };
import sqlite2 from "./sqlite/0002_pipeline.sql" with { type: "text" };
import sqlite3 from "./sqlite/0003_pull_workers.sql" with { type: "text" };
import sqlite4 from "./sqlite/0004_operations.sql" with { type: "text" };
import sqlite5 from "./sqlite/0005_fleet_of_workers.sql" with { type: "text" };
import sqlite6 from "./sqlite/0006_deploy_outcomes.sql" with { type: "text" };
import sqlite7 from "./sqlite/0007_runs_workload_failed.sql" with { type: "text" };
import sqlite8 from "./sqlite/0008_schedule_take.sql" with { type: "text" };
import sqlite9 from "./sqlite/0009_scripts.sql" with { type: "text" };
import sqlite10 from "./sqlite/0010_executors_and_notes.sql" with { type: "text" };
import sqlite11 from "./sqlite/0011_rate_claims.sql" with { type: "text" };
import sqlite12 from "./sqlite/0012_leases_frames_and_bounds.sql" with { type: "text" };
import sqlite13 from "./sqlite/0013_hub_of_job.sql" with { type: "text" };
import sqlite14 from "./sqlite/0014_access_tokens.sql" with { type: "text" };
import sqlite15 from "./sqlite/0015_proxies.sql" with { type: "text" };
import sqlite16 from "./sqlite/0016_audit.sql" with { type: "text" };
import sqlite17 from "./sqlite/0017_sessions.sql" with { type: "text" };
import sqlite18 from "./sqlite/0018_final_state.sql" with { type: "text" };
import sqlite19 from "./sqlite/0019_recordings.sql" with { type: "text" };
import sqlite20 from "./sqlite/0020_watches.sql" with { type: "text" };
import sqlite21 from "./sqlite/0021_host_record.sql" with { type: "text" };
import sqlite22 from "./sqlite/0022_cpu_minutes.sql" with { type: "text" };
import sqlite23 from "./sqlite/0023_recording_bodies.sql" with { type: "text" };
import sqlite24 from "./sqlite/0024_workload_code.sql" with { type: "text" };
import sqlite25 from "./sqlite/0025_failures.sql" with { type: "text" };
import sqlite26 from "./sqlite/0026_find.sql" with { type: "text" };
import sqlite27 from "./sqlite/0027_attempt_proof.sql" with { type: "text" };
import sqlite28 from "./sqlite/0028_host_browser_options.sql" with { type: "text" };
import sqlite29 from "./sqlite/0029_once_keys.sql" with { type: "text" };
import sqlite30 from "./sqlite/0030_document_bytes.sql" with { type: "text" };
import sqlite31 from "./sqlite/0031_job_texts_due.sql" with { type: "text" };
import sqlite32 from "./sqlite/0032_recording_screen.sql" with { type: "text" };

export interface Migration {
  name: string;
  sql: string;
}

export const pgMigrations: Migration[] = [
  { name: "0000_init", sql: pg0 },
  { name: "0001_hosts_profiles", sql: pg1 },
  { name: "0002_pipeline", sql: pg2 },
  { name: "0003_pull_workers", sql: pg3 },
  { name: "0004_operations", sql: pg4 },
  { name: "0005_fleet_of_workers", sql: pg5 },
  { name: "0006_deploy_outcomes", sql: pg6 },
  { name: "0007_runs_workload_failed", sql: pg7 },
  { name: "0008_schedule_take", sql: pg8 },
  { name: "0009_scripts", sql: pg9 },
  { name: "0010_executors_and_notes", sql: pg10 },
  { name: "0011_rate_claims", sql: pg11 },
  { name: "0012_leases_frames_and_bounds", sql: pg12 },
  { name: "0013_hub_of_job", sql: pg13 },
  { name: "0014_access_tokens", sql: pg14 },
  { name: "0015_proxies", sql: pg15 },
  { name: "0016_audit", sql: pg16 },
  { name: "0017_sessions", sql: pg17 },
  { name: "0018_final_state", sql: pg18 },
  { name: "0019_recordings", sql: pg19 },
  { name: "0020_watches", sql: pg20 },
  { name: "0021_host_record", sql: pg21 },
  { name: "0022_cpu_minutes", sql: pg22 },
  { name: "0023_recording_bodies", sql: pg23 },
  { name: "0024_workload_code", sql: pg24 },
  { name: "0025_failures", sql: pg25 },
  { name: "0026_find", sql: pg26 },
  { name: "0027_attempt_proof", sql: pg27 },
  { name: "0028_host_browser_options", sql: pg28 },
  { name: "0029_once_keys", sql: pg29 },
  { name: "0030_document_bytes", sql: pg30 },
  { name: "0031_recording_screen", sql: pg31 },
];

export const sqliteMigrations: Migration[] = [
  { name: "0000_init", sql: sqlite0 },
  { name: "0001_hosts_profiles", sql: sqlite1 },
  { name: "0002_pipeline", sql: sqlite2 },
  { name: "0003_pull_workers", sql: sqlite3 },
  { name: "0004_operations", sql: sqlite4 },
  { name: "0005_fleet_of_workers", sql: sqlite5 },
  { name: "0006_deploy_outcomes", sql: sqlite6 },
  { name: "0007_runs_workload_failed", sql: sqlite7 },
  { name: "0008_schedule_take", sql: sqlite8 },
  { name: "0009_scripts", sql: sqlite9 },
  { name: "0010_executors_and_notes", sql: sqlite10 },
  { name: "0011_rate_claims", sql: sqlite11 },
  { name: "0012_leases_frames_and_bounds", sql: sqlite12 },
  { name: "0013_hub_of_job", sql: sqlite13 },
  { name: "0014_access_tokens", sql: sqlite14 },
  { name: "0015_proxies", sql: sqlite15 },
  { name: "0016_audit", sql: sqlite16 },
  { name: "0017_sessions", sql: sqlite17 },
  { name: "0018_final_state", sql: sqlite18 },
  { name: "0019_recordings", sql: sqlite19 },
  { name: "0020_watches", sql: sqlite20 },
  { name: "0021_host_record", sql: sqlite21 },
  { name: "0022_cpu_minutes", sql: sqlite22 },
  { name: "0023_recording_bodies", sql: sqlite23 },
  { name: "0024_workload_code", sql: sqlite24 },
  { name: "0025_failures", sql: sqlite25 },
  { name: "0026_find", sql: sqlite26 },
  { name: "0027_attempt_proof", sql: sqlite27 },
  { name: "0028_host_browser_options", sql: sqlite28 },
  { name: "0029_once_keys", sql: sqlite29 },
  { name: "0030_document_bytes", sql: sqlite30 },
  { name: "0031_job_texts_due", sql: sqlite31 },
  { name: "0032_recording_screen", sql: sqlite32 },
];
