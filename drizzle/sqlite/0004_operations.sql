CREATE TABLE `agents` (
	`host` text PRIMARY KEY NOT NULL,
	`desired` text NOT NULL,
	`revision` integer NOT NULL,
	`report` text,
	`last_seen_at` integer
);
--> statement-breakpoint
CREATE TABLE `deploys` (
	`deploy_id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`target` text NOT NULL,
	`args` text NOT NULL,
	`running` integer,
	`node` text NOT NULL,
	`started_at` integer NOT NULL,
	`finished_at` integer,
	`exit_code` integer,
	`error` text,
	`log` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `deploys_running_idx` ON `deploys` (`running`);--> statement-breakpoint
CREATE TABLE `flow_positions` (
	`node_id` text PRIMARY KEY NOT NULL,
	`x` real NOT NULL,
	`y` real NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `gpu_minutes` (
	`minute` integer NOT NULL,
	`host` text NOT NULL,
	`gpu` integer NOT NULL,
	`name` text NOT NULL,
	`util_percent` real,
	`mem_used_mb` real,
	`mem_total_mb` real,
	PRIMARY KEY(`minute`, `host`, `gpu`)
);
--> statement-breakpoint
CREATE TABLE `plugin_blobs` (
	`slug` text NOT NULL,
	`key` text NOT NULL,
	`mime` text NOT NULL,
	`size` integer NOT NULL,
	`sha256` text NOT NULL,
	`object_key` text NOT NULL,
	`updated_at` integer NOT NULL,
	PRIMARY KEY(`slug`, `key`)
);
--> statement-breakpoint
CREATE TABLE `plugin_state` (
	`slug` text NOT NULL,
	`key` text NOT NULL,
	`value` text NOT NULL,
	`updated_at` integer NOT NULL,
	PRIMARY KEY(`slug`, `key`)
);
--> statement-breakpoint
CREATE TABLE `schedules` (
	`workload_id` integer PRIMARY KEY NOT NULL,
	`spec` text NOT NULL,
	`next_at` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `service_logs` (
	`log_id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`ts` integer NOT NULL,
	`host` text NOT NULL,
	`service` text NOT NULL,
	`level` integer NOT NULL,
	`message` text NOT NULL,
	`fields` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `service_logs_ts_idx` ON `service_logs` (`ts`);--> statement-breakpoint
CREATE TABLE `supervised` (
	`workload_id` integer PRIMARY KEY NOT NULL,
	`paused_at` integer,
	`last_run_id` integer NOT NULL,
	`reset` integer NOT NULL
);
