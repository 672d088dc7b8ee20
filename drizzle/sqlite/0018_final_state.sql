ALTER TABLE `jobs` ADD `final_state` text;--> statement-breakpoint
ALTER TABLE `jobs` ADD `answer` text;