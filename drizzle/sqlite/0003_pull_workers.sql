CREATE TABLE `pull_workers` (
	`worker_id` text PRIMARY KEY NOT NULL,
	`incarnation` text NOT NULL,
	`host` text NOT NULL,
	`version` text NOT NULL,
	`slots` integer NOT NULL,
	`labels` text NOT NULL,
	`filter` text,
	`draining` integer NOT NULL,
	`in_flight` integer NOT NULL,
	`cpu_percent` real,
	`mem_percent` real,
	`gpus` text NOT NULL,
	`started_at` integer NOT NULL,
	`last_heartbeat_at` integer NOT NULL
);
