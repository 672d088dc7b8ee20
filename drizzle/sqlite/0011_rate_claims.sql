CREATE TABLE `rate_claims` (
	`workload_id` integer NOT NULL,
	`at` integer NOT NULL,
	`used` integer NOT NULL,
	PRIMARY KEY(`workload_id`, `at`)
);
