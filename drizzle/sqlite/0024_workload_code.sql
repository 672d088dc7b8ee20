CREATE TABLE `workload_versions` (
	`workload_id` integer NOT NULL,
	`version` integer NOT NULL,
	`executor_type` text NOT NULL,
	`code` text NOT NULL,
	`sha256` text NOT NULL,
	`bytes` integer NOT NULL,
	`note` text NOT NULL,
	`created_by` text NOT NULL,
	`restored_from` integer,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`workload_id`, `version`)
);
--> statement-breakpoint
ALTER TABLE `workloads` ADD `code_version` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `workloads` ADD `code_sha256` text;