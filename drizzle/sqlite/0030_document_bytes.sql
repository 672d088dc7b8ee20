CREATE TABLE `documents` (
	`job_id` text NOT NULL,
	`name` text NOT NULL,
	`size` integer NOT NULL,
	PRIMARY KEY(`job_id`, `name`),
	FOREIGN KEY (`job_id`) REFERENCES `jobs`(`job_id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
ALTER TABLE `jobs` ADD `document_bytes` integer DEFAULT 0 NOT NULL;