ALTER TABLE `deploys` ADD `beat_at` integer;--> statement-breakpoint
ALTER TABLE `deploys` ADD `outcome` text;--> statement-breakpoint
ALTER TABLE `pull_workers` ADD `host_cpu_percent` real;--> statement-breakpoint
CREATE INDEX `runs_failed_idx` ON `runs` (`finished_at`) WHERE outcome <> 0;