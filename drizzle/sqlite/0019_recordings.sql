CREATE TABLE `recordings` (
	`run_id` text PRIMARY KEY NOT NULL,
	`job_id` text,
	`session_id` text NOT NULL,
	`mode` text NOT NULL,
	`state` text NOT NULL,
	`started_at` integer NOT NULL,
	`ended_at` integer,
	`sealed` integer NOT NULL,
	`parts` text NOT NULL,
	`contents` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `recordings_job_idx` ON `recordings` (`job_id`,`started_at`);--> statement-breakpoint
CREATE INDEX `recordings_session_idx` ON `recordings` (`session_id`);--> statement-breakpoint
CREATE INDEX `recordings_ended_idx` ON `recordings` (`ended_at`,`run_id`);