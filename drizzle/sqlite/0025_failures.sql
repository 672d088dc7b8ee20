DROP INDEX `runs_failed_idx`;--> statement-breakpoint
ALTER TABLE `runs` ADD `fingerprint` text;--> statement-breakpoint
CREATE INDEX `runs_fingerprint_idx` ON `runs` (`fingerprint`,`run_id`) WHERE fingerprint is not null;--> statement-breakpoint
CREATE INDEX `runs_failed_idx` ON `runs` (`finished_at`,`run_id`,`fingerprint`,`workload_id`,`worker_id`,`outcome`) WHERE outcome <> 0;--> statement-breakpoint
ALTER TABLE `jobs` ADD `fingerprint` text;--> statement-breakpoint
ALTER TABLE `jobs` ADD `retried_as` text;--> statement-breakpoint
CREATE INDEX `jobs_fingerprint_created_idx` ON `jobs` (`fingerprint`,`created_at`,`job_id`) WHERE fingerprint is not null;--> statement-breakpoint
ALTER TABLE `tasks` ADD `fingerprint` text;--> statement-breakpoint
CREATE INDEX `tasks_fingerprint_idx` ON `tasks` (`fingerprint`,`task_id`) WHERE fingerprint is not null;