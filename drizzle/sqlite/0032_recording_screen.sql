ALTER TABLE `recordings` ADD `has_screen` integer DEFAULT false NOT NULL;
--> statement-breakpoint
UPDATE `recordings` SET `has_screen` = 1 WHERE json_array_length(`contents`, '$.chunks') > 0;