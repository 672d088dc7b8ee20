ALTER TABLE `assets` ADD `frame_url` text;--> statement-breakpoint
ALTER TABLE `idempotency_keys` ADD `owner` text;--> statement-breakpoint
ALTER TABLE `idempotency_keys` ADD `leased_until` integer;--> statement-breakpoint
ALTER TABLE `tasks` ADD `follows_workload` integer DEFAULT false NOT NULL;