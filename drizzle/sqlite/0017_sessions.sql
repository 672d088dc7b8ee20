CREATE TABLE `sessions` (
	`session_id` text PRIMARY KEY NOT NULL,
	`kind` text NOT NULL,
	`job_id` text,
	`worker_id` text NOT NULL,
	`lane_idx` integer NOT NULL,
	`opened_by` text,
	`headless` integer NOT NULL,
	`created_at` integer NOT NULL,
	`ended_at` integer,
	`end_reason` text,
	`url` text NOT NULL,
	`title` text NOT NULL,
	`actions` integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE INDEX `sessions_ended_idx` ON `sessions` (`ended_at`,`session_id`);