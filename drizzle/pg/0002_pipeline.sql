CREATE TABLE "rate_minutes" (
	"minute" bigint NOT NULL,
	"workload_id" bigint NOT NULL,
	"metric" text NOT NULL,
	"node" text NOT NULL,
	"n" bigint NOT NULL,
	CONSTRAINT "rate_minutes_minute_workload_id_metric_node_pk" PRIMARY KEY("minute","workload_id","metric","node")
);
--> statement-breakpoint
CREATE TABLE "rate_windows" (
	"workload_id" bigint NOT NULL,
	"started_at" bigint NOT NULL,
	"used" integer NOT NULL,
	CONSTRAINT "rate_windows_workload_id_pk" PRIMARY KEY("workload_id")
);
--> statement-breakpoint
CREATE TABLE "run_logs" (
	"run_id" bigint NOT NULL,
	"stdout" text NOT NULL,
	"stderr" text NOT NULL,
	CONSTRAINT "run_logs_run_id_pk" PRIMARY KEY("run_id")
);
--> statement-breakpoint
CREATE TABLE "runs" (
	"run_id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "runs_run_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"workload_id" bigint NOT NULL,
	"task_id" bigint NOT NULL,
	"pk" text NOT NULL,
	"attempt" integer NOT NULL,
	"epoch" bigint NOT NULL,
	"outcome" integer NOT NULL,
	"worker_id" text,
	"started_at" bigint NOT NULL,
	"finished_at" bigint NOT NULL,
	"duration_ms" bigint NOT NULL,
	"output" jsonb,
	"error" text,
	"truncated" boolean DEFAULT false NOT NULL
);
--> statement-breakpoint
CREATE TABLE "tasks" (
	"task_id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "tasks_task_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"workload_id" bigint NOT NULL,
	"state" integer NOT NULL,
	"priority" integer NOT NULL,
	"attempt" integer DEFAULT 0 NOT NULL,
	"max_attempts" integer NOT NULL,
	"crash_count" integer DEFAULT 0 NOT NULL,
	"epoch" bigint DEFAULT 0 NOT NULL,
	"worker" text,
	"worker_id" text,
	"claimed_at" bigint,
	"lease_until" bigint,
	"deadline_at" bigint,
	"run_at" bigint NOT NULL,
	"pk" text NOT NULL,
	"extra" jsonb,
	"last_error" text,
	"created_at" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "workload_stats" (
	"workload_id" bigint NOT NULL,
	"node" text NOT NULL,
	"ready" bigint DEFAULT 0 NOT NULL,
	"claimed" bigint DEFAULT 0 NOT NULL,
	"failed" bigint DEFAULT 0 NOT NULL,
	"delayed" bigint DEFAULT 0 NOT NULL,
	"last_runs" integer DEFAULT 0 NOT NULL,
	"last_n" integer DEFAULT 0 NOT NULL,
	"last_at" bigint DEFAULT 0 NOT NULL,
	CONSTRAINT "workload_stats_workload_id_node_pk" PRIMARY KEY("workload_id","node")
);
--> statement-breakpoint
CREATE TABLE "workloads" (
	"workload_id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "workloads_workload_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"slug" text NOT NULL,
	"name" text NOT NULL,
	"description" text NOT NULL,
	"enabled" boolean NOT NULL,
	"supervisor_enabled" boolean NOT NULL,
	"executor_type" text NOT NULL,
	"executor_config" jsonb NOT NULL,
	"priority" integer NOT NULL,
	"batch_size" integer NOT NULL,
	"lease_secs" integer NOT NULL,
	"max_attempts" integer NOT NULL,
	"timeout_s" double precision,
	"host_affinity" jsonb NOT NULL,
	"backoff" jsonb NOT NULL,
	"rate_limit" jsonb,
	"max_in_flight" integer,
	"emits" jsonb NOT NULL,
	"schedule" text,
	"schedule_tz" text NOT NULL,
	"created_at" bigint NOT NULL,
	"updated_at" bigint NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX "runs_attempt_idx" ON "runs" USING btree ("task_id","epoch");--> statement-breakpoint
CREATE INDEX "runs_workload_idx" ON "runs" USING btree ("workload_id","run_id");--> statement-breakpoint
CREATE UNIQUE INDEX "tasks_pk_idx" ON "tasks" USING btree ("workload_id","pk");--> statement-breakpoint
CREATE INDEX "tasks_ready_idx" ON "tasks" USING btree ("workload_id","priority" desc,"task_id") WHERE state = 0;--> statement-breakpoint
CREATE INDEX "tasks_lease_idx" ON "tasks" USING btree ("lease_until") WHERE state = 1;--> statement-breakpoint
CREATE INDEX "tasks_due_idx" ON "tasks" USING btree ("run_at") WHERE state = 3;--> statement-breakpoint
CREATE INDEX "tasks_delayed_idx" ON "tasks" USING btree ("workload_id","task_id") WHERE state = 3;--> statement-breakpoint
CREATE INDEX "tasks_failed_idx" ON "tasks" USING btree ("workload_id","task_id") WHERE state = 2;--> statement-breakpoint
CREATE UNIQUE INDEX "workloads_slug_idx" ON "workloads" USING btree ("slug");--> statement-breakpoint
ALTER TABLE "tasks" SET (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);--> statement-breakpoint
CREATE FUNCTION flotilla_now() RETURNS bigint LANGUAGE sql STABLE AS $$ SELECT coalesce(nullif(current_setting('flotilla.now_ms', true), '')::bigint, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint) $$;
