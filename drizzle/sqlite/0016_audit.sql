CREATE TABLE `audit` (
	`audit_id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`at` integer NOT NULL,
	`hub` text NOT NULL,
	`caller_kind` text NOT NULL,
	`caller_name` text,
	`role` text,
	`token_id` text,
	`address` text NOT NULL,
	`method` text NOT NULL,
	`route` text,
	`path` text NOT NULL,
	`status` integer NOT NULL,
	`error` text,
	`times` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `audit_at_idx` ON `audit` (`at`,`audit_id`);