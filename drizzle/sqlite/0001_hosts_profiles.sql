CREATE TABLE `hosts` (
	`host` text PRIMARY KEY NOT NULL,
	`recipes` text NOT NULL,
	`login_recipe` text,
	`popup_policy` text NOT NULL,
	`notes` text NOT NULL,
	`cookies` text NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `profiles` (
	`name` text PRIMARY KEY NOT NULL,
	`size` integer NOT NULL,
	`files` integer NOT NULL,
	`sha256` text NOT NULL,
	`is_default` integer NOT NULL,
	`source_browser` text,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
ALTER TABLE `assets` ADD `refetched` integer DEFAULT false NOT NULL;