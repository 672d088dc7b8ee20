CREATE TABLE "watches" (
	"watch_id" text PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"url" text NOT NULL,
	"options" jsonb NOT NULL,
	"cron" text,
	"cron_tz" text NOT NULL,
	"every_s" integer,
	"paused" boolean NOT NULL,
	"compare" jsonb NOT NULL,
	"ignore_text" jsonb NOT NULL,
	"ignore_assets" jsonb NOT NULL,
	"keep" integer NOT NULL,
	"webhook_url" text,
	"next_at" bigint,
	"capturing" text,
	"taken_until" bigint DEFAULT 0 NOT NULL,
	"baseline" text,
	"last_job_id" text,
	"last_status" text,
	"last_at" bigint,
	"last_changed" boolean,
	"changed_job_id" text,
	"changed_at" bigint,
	"failing_since" bigint,
	"failures" integer DEFAULT 0 NOT NULL,
	"last_error" text,
	"captures" integer DEFAULT 0 NOT NULL,
	"changes" integer DEFAULT 0 NOT NULL,
	"created_at" bigint NOT NULL,
	"updated_at" bigint NOT NULL
);
--> statement-breakpoint
ALTER TABLE "jobs" ADD COLUMN "watch_id" text;--> statement-breakpoint
ALTER TABLE "jobs" ADD COLUMN "changed" boolean;--> statement-breakpoint
ALTER TABLE "jobs" ADD COLUMN "changes" jsonb;--> statement-breakpoint
CREATE INDEX "watches_next_idx" ON "watches" USING btree ("next_at");--> statement-breakpoint
CREATE INDEX "watches_baseline_idx" ON "watches" USING btree ("baseline");--> statement-breakpoint
CREATE INDEX "jobs_watch_created_idx" ON "jobs" USING btree ("watch_id","created_at","job_id") WHERE watch_id is not null;--> statement-breakpoint
CREATE INDEX "jobs_changed_created_idx" ON "jobs" USING btree ("changed","created_at","job_id") WHERE changed is not null;