CREATE TABLE `cpu_minutes` (
	`minute` integer NOT NULL,
	`host` text NOT NULL,
	`cpu_percent` real NOT NULL,
	PRIMARY KEY(`minute`, `host`)
);
