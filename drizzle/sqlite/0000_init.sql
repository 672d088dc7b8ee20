CREATE TABLE `assets` (
	`job_id` text NOT NULL,
	`name` text NOT NULL,
	`position` integer NOT NULL,
	`kind` text NOT NULL,
	`mime` text NOT NULL,
	`ext` text NOT NULL,
	`size` integer NOT NULL,
	`sha256` text NOT NULL,
	`source_url` text NOT NULL,
	`page_url` text NOT NULL,
	`status` integer,
	`from_cache` integer NOT NULL,
	`from_service_worker` integer NOT NULL,
	`partial` integer NOT NULL,
	`ranges` text NOT NULL,
	PRIMARY KEY(`job_id`, `name`),
	FOREIGN KEY (`job_id`) REFERENCES `jobs`(`job_id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE TABLE `idempotency_keys` (
	`key` text PRIMARY KEY NOT NULL,
	`fingerprint` text NOT NULL,
	`answer` text,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `idempotency_created_idx` ON `idempotency_keys` (`created_at`);--> statement-breakpoint
CREATE TABLE `job_events` (
	`job_id` text NOT NULL,
	`seq` integer NOT NULL,
	`ts` integer NOT NULL,
	`type` text NOT NULL,
	`data` text NOT NULL,
	PRIMARY KEY(`job_id`, `seq`),
	FOREIGN KEY (`job_id`) REFERENCES `jobs`(`job_id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE TABLE `jobs` (
	`job_id` text PRIMARY KEY NOT NULL,
	`status` text NOT NULL,
	`mode` text NOT NULL,
	`url` text NOT NULL,
	`host` text NOT NULL,
	`options` text NOT NULL,
	`novnc_url` text,
	`worker_id` text,
	`lane_idx` integer,
	`session_id` text,
	`lease_token` integer,
	`error` text,
	`stage` text,
	`http_status` integer,
	`final_url` text,
	`title` text,
	`created_at` integer NOT NULL,
	`started_at` integer,
	`finished_at` integer,
	`asset_count` integer DEFAULT 0 NOT NULL,
	`asset_bytes` integer DEFAULT 0 NOT NULL,
	`attempts` integer DEFAULT 0 NOT NULL,
	`capture` text,
	`idempotency_key` text
);
--> statement-breakpoint
CREATE INDEX `jobs_created_idx` ON `jobs` (`created_at`,`job_id`);--> statement-breakpoint
CREATE INDEX `jobs_status_created_idx` ON `jobs` (`status`,`created_at`,`job_id`);--> statement-breakpoint
CREATE INDEX `jobs_worker_created_idx` ON `jobs` (`worker_id`,`created_at`,`job_id`);--> statement-breakpoint
CREATE INDEX `jobs_host_created_idx` ON `jobs` (`host`,`created_at`,`job_id`);--> statement-breakpoint
CREATE TABLE `settings` (
	`key` text PRIMARY KEY NOT NULL,
	`value` text NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `workers` (
	`worker_id` text PRIMARY KEY NOT NULL,
	`status` text NOT NULL,
	`address` text NOT NULL,
	`hostname` text NOT NULL,
	`version` text NOT NULL,
	`first_seen_at` integer NOT NULL,
	`last_seen_at` integer NOT NULL
);
