CREATE TABLE `attempts` (
	`job_id` text NOT NULL,
	`n` integer NOT NULL,
	`state` text NOT NULL,
	`engine` text,
	`prompt` text,
	`reply` text,
	`script` text,
	`stdout` text NOT NULL,
	`stderr` text NOT NULL,
	`result` text,
	`error` text,
	`exit_code` integer,
	`verdict` text,
	`timings` text NOT NULL,
	`tokens` text,
	`sandbox` text,
	`screenshot` text,
	`evidence` text NOT NULL,
	`started_at` integer NOT NULL,
	`finished_at` integer,
	PRIMARY KEY(`job_id`, `n`),
	FOREIGN KEY (`job_id`) REFERENCES `jobs`(`job_id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE TABLE `conventions` (
	`slug` text PRIMARY KEY NOT NULL,
	`title` text NOT NULL,
	`text` text NOT NULL,
	`enabled` integer NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `engines` (
	`slug` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`kind` text NOT NULL,
	`protocol` text NOT NULL,
	`endpoint` text NOT NULL,
	`model` text NOT NULL,
	`timeout_s` real NOT NULL,
	`supports_tools` integer NOT NULL,
	`use_for_codegen` integer NOT NULL,
	`api_key_env` text,
	`notes` text NOT NULL,
	`promoted` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `presets` (
	`slug` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`description` text NOT NULL,
	`options` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `skills` (
	`slug` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`description` text NOT NULL,
	`host_pattern` text NOT NULL,
	`code` text NOT NULL,
	`tags` text NOT NULL,
	`created_by` text NOT NULL,
	`created_from_job` text,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
