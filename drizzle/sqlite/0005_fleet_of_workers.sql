CREATE TABLE `worker_restarts` (
	`worker_id` text PRIMARY KEY NOT NULL,
	`window_at` integer NOT NULL,
	`used` integer NOT NULL,
	`busy_until` integer,
	`last_at` integer NOT NULL,
	`exit_code` integer,
	`error` text
);
--> statement-breakpoint
ALTER TABLE `agents` ADD `agent_id` text;--> statement-breakpoint
ALTER TABLE `supervised` ADD `seq` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `supervised` ADD `problem` text;--> statement-breakpoint
ALTER TABLE `supervised` ADD `problem_at` integer;--> statement-breakpoint
ALTER TABLE `supervised` ADD `told` integer DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE `supervised` ADD `action` text;--> statement-breakpoint
ALTER TABLE `supervised` ADD `reason` text;--> statement-breakpoint
ALTER TABLE `supervised` ADD `action_at` integer;