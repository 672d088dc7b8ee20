CREATE TABLE `watches` (
	`watch_id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`url` text NOT NULL,
	`options` text NOT NULL,
	`cron` text,
	`cron_tz` text NOT NULL,
	`every_s` integer,
	`paused` integer NOT NULL,
	`compare` text NOT NULL,
	`ignore_text` text NOT NULL,
	`ignore_assets` text NOT NULL,
	`keep` integer NOT NULL,
	`webhook_url` text,
	`next_at` integer,
	`capturing` text,
	`taken_until` integer DEFAULT 0 NOT NULL,
	`baseline` text,
	`last_job_id` text,
	`last_status` text,
	`last_at` integer,
	`last_changed` integer,
	`changed_job_id` text,
	`changed_at` integer,
	`failing_since` integer,
	`failures` integer DEFAULT 0 NOT NULL,
	`last_error` text,
	`captures` integer DEFAULT 0 NOT NULL,
	`changes` integer DEFAULT 0 NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `watches_next_idx` ON `watches` (`next_at`);--> statement-breakpoint
CREATE INDEX `watches_baseline_idx` ON `watches` (`baseline`);--> statement-breakpoint
ALTER TABLE `jobs` ADD `watch_id` text;--> statement-breakpoint
ALTER TABLE `jobs` ADD `changed` integer;--> statement-breakpoint
ALTER TABLE `jobs` ADD `changes` text;--> statement-breakpoint
CREATE INDEX `jobs_watch_created_idx` ON `jobs` (`watch_id`,`created_at`,`job_id`) WHERE watch_id is not null;--> statement-breakpoint
CREATE INDEX `jobs_changed_created_idx` ON `jobs` (`changed`,`created_at`,`job_id`) WHERE changed is not null;