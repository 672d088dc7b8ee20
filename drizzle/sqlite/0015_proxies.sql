CREATE TABLE `job_proxies` (
	`job_id` text PRIMARY KEY NOT NULL,
	`proxy` text NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
ALTER TABLE `hosts` ADD `proxy` text;