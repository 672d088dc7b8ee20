CREATE TABLE `run_notes` (
	`task_id` integer NOT NULL,
	`epoch` integer NOT NULL,
	`progress` real,
	`progress_text` text,
	`lines` text NOT NULL,
	`dropped` integer NOT NULL,
	`seq` integer NOT NULL,
	`updated_at` integer NOT NULL,
	PRIMARY KEY(`task_id`, `epoch`)
);
--> statement-breakpoint
CREATE INDEX `run_notes_updated_idx` ON `run_notes` (`updated_at`);--> statement-breakpoint
ALTER TABLE `pull_workers` ADD `broken` text;