CREATE TABLE "agents" (
	"host" text PRIMARY KEY NOT NULL,
	"desired" jsonb NOT NULL,
	"revision" bigint NOT NULL,
	"report" jsonb,
	"last_seen_at" bigint
);
--> statement-breakpoint
CREATE TABLE "deploys" (
	"deploy_id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "deploys_deploy_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"target" text NOT NULL,
	"args" jsonb NOT NULL,
	"running" integer,
	"node" text NOT NULL,
	"started_at" bigint NOT NULL,
	"finished_at" bigint,
	"exit_code" integer,
	"error" text,
	"log" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "flow_positions" (
	"node_id" text PRIMARY KEY NOT NULL,
	"x" double precision NOT NULL,
	"y" double precision NOT NULL,
	"updated_at" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "gpu_minutes" (
	"minute" bigint NOT NULL,
	"host" text NOT NULL,
	"gpu" integer NOT NULL,
	"name" text NOT NULL,
	"util_percent" double precision,
	"mem_used_mb" double precision,
	"mem_total_mb" double precision,
	CONSTRAINT "gpu_minutes_minute_host_gpu_pk" PRIMARY KEY("minute","host","gpu")
);
--> statement-breakpoint
CREATE TABLE "plugin_blobs" (
	"slug" text NOT NULL,
	"key" text NOT NULL,
	"mime" text NOT NULL,
	"size" bigint NOT NULL,
	"sha256" text NOT NULL,
	"object_key" text NOT NULL,
	"updated_at" bigint NOT NULL,
	CONSTRAINT "plugin_blobs_slug_key_pk" PRIMARY KEY("slug","key")
);
--> statement-breakpoint
CREATE TABLE "plugin_state" (
	"slug" text NOT NULL,
	"key" text NOT NULL,
	"value" jsonb NOT NULL,
	"updated_at" bigint NOT NULL,
	CONSTRAINT "plugin_state_slug_key_pk" PRIMARY KEY("slug","key")
);
--> statement-breakpoint
CREATE TABLE "schedules" (
	"workload_id" bigint NOT NULL,
	"spec" text NOT NULL,
	"next_at" bigint NOT NULL,
	CONSTRAINT "schedules_workload_id_pk" PRIMARY KEY("workload_id")
);
--> statement-breakpoint
CREATE TABLE "service_logs" (
	"log_id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "service_logs_log_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"ts" bigint NOT NULL,
	"host" text NOT NULL,
	"service" text NOT NULL,
	"level" integer NOT NULL,
	"message" text NOT NULL,
	"fields" jsonb NOT NULL
);
--> statement-breakpoint
CREATE TABLE "supervised" (
	"workload_id" bigint NOT NULL,
	"paused_at" bigint,
	"last_run_id" bigint NOT NULL,
	"reset" boolean NOT NULL,
	CONSTRAINT "supervised_workload_id_pk" PRIMARY KEY("workload_id")
);
--> statement-breakpoint
CREATE UNIQUE INDEX "deploys_running_idx" ON "deploys" USING btree ("running");--> statement-breakpoint
CREATE INDEX "service_logs_ts_idx" ON "service_logs" USING btree ("ts");