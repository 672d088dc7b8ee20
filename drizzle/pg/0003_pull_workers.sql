CREATE TABLE "pull_workers" (
	"worker_id" text PRIMARY KEY NOT NULL,
	"incarnation" text NOT NULL,
	"host" text NOT NULL,
	"version" text NOT NULL,
	"slots" integer NOT NULL,
	"labels" jsonb NOT NULL,
	"filter" jsonb,
	"draining" boolean NOT NULL,
	"in_flight" integer NOT NULL,
	"cpu_percent" double precision,
	"mem_percent" double precision,
	"gpus" jsonb NOT NULL,
	"started_at" bigint NOT NULL,
	"last_heartbeat_at" bigint NOT NULL
);
