CREATE TABLE `once_keys` (
	`workload_id` integer NOT NULL,
	`pk` text NOT NULL,
	PRIMARY KEY(`workload_id`, `pk`)
);
