CREATE TABLE "assets" (
	"job_id" text NOT NULL,
	"name" text NOT NULL,
	"position" integer NOT NULL,
	"kind" text NOT NULL,
	"mime" text NOT NULL,
	"ext" text NOT NULL,
	"size" bigint NOT NULL,
	"sha256" text NOT NULL,
	"source_url" text NOT NULL,
	"page_url" text NOT NULL,
	"status" integer,
	"from_cache" boolean NOT NULL,
	"from_service_worker" boolean NOT NULL,
	"partial" boolean NOT NULL,
	"ranges" jsonb NOT NULL,
	CONSTRAINT "assets_job_id_name_pk" PRIMARY KEY("job_id","name")
);
--> statement-breakpoint
CREATE TABLE "idempotency_keys" (
	"key" text PRIMARY KEY NOT NULL,
	"fingerprint" text NOT NULL,
	"answer" jsonb,
	"created_at" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "job_events" (
	"job_id" text NOT NULL,
	"seq" integer NOT NULL,
	"ts" bigint NOT NULL,
	"type" text NOT NULL,
	"data" jsonb NOT NULL,
	CONSTRAINT "job_events_job_id_seq_pk" PRIMARY KEY("job_id","seq")
);
--> statement-breakpoint
CREATE TABLE "jobs" (
	"job_id" text PRIMARY KEY NOT NULL,
	"status" text NOT NULL,
	"mode" text NOT NULL,
	"url" text NOT NULL,
	"host" text NOT NULL,
	"options" jsonb NOT NULL,
	"novnc_url" text,
	"worker_id" text,
	"lane_idx" integer,
	"session_id" text,
	"lease_token" bigint,
	"error" text,
	"stage" text,
	"http_status" integer,
	"final_url" text,
	"title" text,
	"created_at" bigint NOT NULL,
	"started_at" bigint,
	"finished_at" bigint,
	"asset_count" integer DEFAULT 0 NOT NULL,
	"asset_bytes" bigint DEFAULT 0 NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"capture" jsonb,
	"idempotency_key" text
);
--> statement-breakpoint
CREATE TABLE "settings" (
	"key" text PRIMARY KEY NOT NULL,
	"value" jsonb NOT NULL,
	"updated_at" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "workers" (
	"worker_id" text PRIMARY KEY NOT NULL,
	"status" text NOT NULL,
	"address" text NOT NULL,
	"hostname" text NOT NULL,
	"version" text NOT NULL,
	"first_seen_at" bigint NOT NULL,
	"last_seen_at" bigint NOT NULL
);
--> statement-breakpoint
ALTER TABLE "assets" ADD CONSTRAINT "assets_job_id_jobs_job_id_fk" FOREIGN KEY ("job_id") REFERENCES "public"."jobs"("job_id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "job_events" ADD CONSTRAINT "job_events_job_id_jobs_job_id_fk" FOREIGN KEY ("job_id") REFERENCES "public"."jobs"("job_id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "idempotency_created_idx" ON "idempotency_keys" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "jobs_created_idx" ON "jobs" USING btree ("created_at","job_id");--> statement-breakpoint
CREATE INDEX "jobs_status_created_idx" ON "jobs" USING btree ("status","created_at","job_id");--> statement-breakpoint
CREATE INDEX "jobs_worker_created_idx" ON "jobs" USING btree ("worker_id","created_at","job_id");--> statement-breakpoint
CREATE INDEX "jobs_host_created_idx" ON "jobs" USING btree ("host","created_at","job_id");