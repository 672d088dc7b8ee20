CREATE TABLE `rate_minutes` (
	`minute` integer NOT NULL,
	`workload_id` integer NOT NULL,
	`metric` text NOT NULL,
	`node` text NOT NULL,
	`n` integer NOT NULL,
	PRIMARY KEY(`minute`, `workload_id`, `metric`, `node`)
);
--> statement-breakpoint
CREATE TABLE `rate_windows` (
	`workload_id` integer PRIMARY KEY NOT NULL,
	`started_at` integer NOT NULL,
	`used` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `run_logs` (
	`run_id` integer PRIMARY KEY NOT NULL,
	`stdout` text NOT NULL,
	`stderr` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `runs` (
	`run_id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`workload_id` integer NOT NULL,
	`task_id` integer NOT NULL,
	`pk` text NOT NULL,
	`attempt` integer NOT NULL,
	`epoch` integer NOT NULL,
	`outcome` integer NOT NULL,
	`worker_id` text,
	`started_at` integer NOT NULL,
	`finished_at` integer NOT NULL,
	`duration_ms` integer NOT NULL,
	`output` text,
	`error` text,
	`truncated` integer DEFAULT false NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `runs_attempt_idx` ON `runs` (`task_id`,`epoch`);--> statement-breakpoint
CREATE INDEX `runs_workload_idx` ON `runs` (`workload_id`,`run_id`);--> statement-breakpoint
CREATE TABLE `tasks` (
	`task_id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`workload_id` integer NOT NULL,
	`state` integer NOT NULL,
	`priority` integer NOT NULL,
	`attempt` integer DEFAULT 0 NOT NULL,
	`max_attempts` integer NOT NULL,
	`crash_count` integer DEFAULT 0 NOT NULL,
	`epoch` integer DEFAULT 0 NOT NULL,
	`worker` text,
	`worker_id` text,
	`claimed_at` integer,
	`lease_until` integer,
	`deadline_at` integer,
	`run_at` integer NOT NULL,
	`pk` text NOT NULL,
	`extra` text,
	`last_error` text,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `tasks_pk_idx` ON `tasks` (`workload_id`,`pk`);--> statement-breakpoint
CREATE INDEX `tasks_ready_idx` ON `tasks` (`workload_id`,"priority" desc,`task_id`) WHERE state = 0;--> statement-breakpoint
CREATE INDEX `tasks_lease_idx` ON `tasks` (`lease_until`) WHERE state = 1;--> statement-breakpoint
CREATE INDEX `tasks_due_idx` ON `tasks` (`run_at`) WHERE state = 3;--> statement-breakpoint
CREATE INDEX `tasks_delayed_idx` ON `tasks` (`workload_id`,`task_id`) WHERE state = 3;--> statement-breakpoint
CREATE INDEX `tasks_failed_idx` ON `tasks` (`workload_id`,`task_id`) WHERE state = 2;--> statement-breakpoint
CREATE TABLE `workload_stats` (
	`workload_id` integer NOT NULL,
	`node` text NOT NULL,
	`ready` integer DEFAULT 0 NOT NULL,
	`claimed` integer DEFAULT 0 NOT NULL,
	`failed` integer DEFAULT 0 NOT NULL,
	`delayed` integer DEFAULT 0 NOT NULL,
	`last_runs` integer DEFAULT 0 NOT NULL,
	`last_n` integer DEFAULT 0 NOT NULL,
	`last_at` integer DEFAULT 0 NOT NULL,
	PRIMARY KEY(`workload_id`, `node`)
);
--> statement-breakpoint
CREATE TABLE `workloads` (
	`workload_id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`slug` text NOT NULL,
	`name` text NOT NULL,
	`description` text NOT NULL,
	`enabled` integer NOT NULL,
	`supervisor_enabled` integer NOT NULL,
	`executor_type` text NOT NULL,
	`executor_config` text NOT NULL,
	`priority` integer NOT NULL,
	`batch_size` integer NOT NULL,
	`lease_secs` integer NOT NULL,
	`max_attempts` integer NOT NULL,
	`timeout_s` real,
	`host_affinity` text NOT NULL,
	`backoff` text NOT NULL,
	`rate_limit` text,
	`max_in_flight` integer,
	`emits` text NOT NULL,
	`schedule` text,
	`schedule_tz` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `workloads_slug_idx` ON `workloads` (`slug`);